import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { type Finished, runCli, runCliProcess, startProcess } from '../support/process.ts';
import { forEachConcurrently } from '../support/worker.ts';
import { type CliCase, cliCases } from './cli-cases.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const folder = mkdtempSync(join(tmpdir(), 'syncline-inputs-'));
/** Results by case. Cases run in parallel, because most of them wait for Postgres. */
const ended = new Map<CliCase, Finished>();
const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  writeFileSync(join(folder, 'nul.mjs'), 'export default {\0}');
  await database.sql(
    `INSERT INTO connections (tenant_id, provider_slug, external_id, status) VALUES ($1, 'github', $2, 'paused')`,
    [tenant, 'evil\u001b[31mname\u009b2J\u202e'],
  );
  await forEachConcurrently(
    3,
    [...cliCases],
    async (testCase) => void ended.set(testCase, await run(testCase)),
  );
}, 600_000);

const environment = () => ({ SYNCLINE_DATABASE_URL: database.url, SYNCLINE_METRICS_PORT: '0' });

const run = ({ args, env, input, ownProcess }: CliCase) => {
  const options = { cwd: folder, env: { ...environment(), ...env }, ...(input !== undefined && { input }) };
  return ownProcess ? runCliProcess(args, { ...options, outlivesTest: true }) : runCli(args, options);
};

/** All control characters except newline and tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

function expectEnd({ code, output }: Pick<CliCase, 'code' | 'output'>, result: Finished): void {
  expect({ code: result.code, signal: result.signal }, result.stderr).toEqual({ code, signal: null });
  expect(result.stdout + result.stderr).not.toMatch(controls);
  expect(result.stderr).not.toMatch(/\n\s+at |node:internal/);
  if (code === 0) expect(result.stdout).toMatch(output);
  else {
    const reasons = result.stderr.split('\n').filter((line) => line.startsWith('error: '));
    expect(reasons, result.stderr).toEqual([expect.stringMatching(output)]);
    expect(result.stdout).toBe('');
  }
}

describe('hostile command lines: one error line, no control characters', () => {
  it.each(cliCases.map((testCase) => [testCase.name, testCase] as const))(
    'command: ends with its expected code and at most one error line: %s',
    (_name, testCase) => {
      expectEnd(testCase, ended.get(testCase) as Finished);
    },
  );

  it('command: an argument that is not valid UTF-8 is rejected in one line', async () => {
    const { finished } = startProcess(
      'sh',
      ['-c', `exec "$0" "$1" jobs show "$(printf '\\377\\376')"`, process.execPath, cli],
      {
        cwd: folder,
        env: environment(),
      },
    );
    expectEnd({ code: 1, output: /job must be a UUID, got "\ufffd\ufffd"/ }, await finished);
  });

  it('command: ends without an error when its reader closes the pipe', async () => {
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

  it('command: succeeds with closed stdin, stdout and stderr', async () => {
    const child = spawn('sh', ['-c', 'exec "$0" "$1" tick <&- >&- 2>&-', process.execPath, cli], {
      cwd: folder,
      env: { ...process.env, ...environment() },
      stdio: 'ignore',
    });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
  });

  it('command: a healthy connection still syncs afterwards', () => stillSyncs(database));
});
