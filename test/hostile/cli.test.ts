import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { type Finished, runCli, startProcess } from '../support/process.ts';
import { severalAtATime } from '../support/worker.ts';
import { type CliCase, cliCases } from './cli-cases.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), 'syncline-inputs-'));
/** How each of them ended. They run side by side, because most of the time of one is its start. */
const ended = new Map<CliCase, Finished>();
const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  writeFileSync(join(folder, 'nul.mjs'), 'export default {\0}');
  await database.sql(
    `INSERT INTO connections (tenant_id, provider_slug, external_id, status) VALUES ($1, 'github', $2, 'paused')`,
    [tenant, 'evil\u001b[31mname\u009b2J\u202e'],
  );
  await severalAtATime(3, [...cliCases], async (one) => void ended.set(one, await run(one)));
}, 600_000);

const environment = () => ({ SYNCLINE_DATABASE_URL: database.url, SYNCLINE_METRICS_PORT: '0' });

const run = ({ args, env, input }: CliCase) =>
  runCli([...args], {
    cwd: folder,
    env: { ...environment(), ...env },
    outlivesTest: true,
    ...(input !== undefined && { input }),
  });

/** Everything but the end of a line and a tab does something. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

function expectEnd({ code, says }: Pick<CliCase, 'code' | 'says'>, how: Finished): void {
  expect({ code: how.code, signal: how.signal }, how.stderr).toEqual({ code, signal: null });
  expect(how.stdout + how.stderr).not.toMatch(controls);
  expect(how.stderr).not.toMatch(/\n\s+at |node:internal/);
  if (code === 0) expect(how.stdout).toMatch(says);
  else {
    const reasons = how.stderr.split('\n').filter((line) => line.startsWith('error: '));
    expect(reasons, how.stderr).toEqual([expect.stringMatching(says)]);
    expect(how.stdout).toBe('');
  }
}

describe('hostile command lines: one line that says why, and nothing that reaches the terminal', () => {
  it.each(cliCases.map((one) => [one.name, one] as const))('command: %s', (_name, one) => {
    expectEnd(one, ended.get(one) as Finished);
  });

  it('command: bytes that are no text', async () => {
    const { finished } = startProcess(
      'sh',
      ['-c', `exec "$0" "$1" jobs show "$(printf '\\377\\376')"`, process.execPath, cli],
      {
        cwd: folder,
        env: environment(),
      },
    );
    expectEnd({ code: 1, says: /job is "\ufffd\ufffd"; it must be a UUID/ }, await finished);
  });

  it('command: a reader who leaves', async () => {
    const { finished } = startProcess(
      'sh',
      ['-c', `"$0" "$1" config --json | true; echo "ended"`, process.execPath, cli],
      {
        cwd: folder,
        env: environment(),
      },
    );
    expect(await finished).toMatchObject({ code: 0, stdout: 'ended\n', stderr: '' });
  });

  it('command: no standard input, output and error at all', async () => {
    const child = spawn('sh', ['-c', 'exec "$0" "$1" tick <&- >&- 2>&-', process.execPath, cli], {
      cwd: folder,
      env: { ...process.env, ...environment() },
      stdio: 'ignore',
    });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
  });

  it('command: afterwards a healthy connection is synced as ever', () => stillSyncs(database));
});
