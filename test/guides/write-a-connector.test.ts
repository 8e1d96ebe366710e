import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/postgres.ts';
import { useDatabase } from '../support/database.ts';
import { type GuideStep, outputPattern, readGuide } from '../support/guide.ts';
import { useProject } from '../support/package.ts';
import { type Running, startProcess } from '../support/process.ts';

const database = useDatabase();
const project = useProject('packed');
const guide = readFileSync(new URL('../../docs/guides/write-a-connector.md', import.meta.url), 'utf8');

const running: Running[] = [];
afterAll(() => {
  for (const { process: child } of running) child.kill('SIGKILL');
});

/** The guide with free ports; nothing else is changed. */
async function guideWithFreePorts(): Promise<string> {
  return guide.replaceAll('4001', String(await freePort())).replaceAll('4002', String(await freePort()));
}

const env: NodeJS.ProcessEnv = {
  NO_COLOR: '1',
  npm_config_update_notifier: 'false',
  npm_config_loglevel: 'error',
};

const shellEnv = () => ({ ...env, PATH: project.path() });

/** The ID printed last; replaces `<id>` in the next commands. */
let lastId = '';

/** Applies `export` lines and skips `npm install`: the packed package is already installed. */
function prepareCommands(commands: string): string {
  return commands
    .replaceAll('<id>', lastId)
    .split('\n')
    .filter((line) => {
      const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      if (name) env[name] = name === 'SYNCLINE_DATABASE_URL' ? database.url : expandValue(value);
      return !name && !line.startsWith('npm install ');
    })
    .join('\n');
}

/** Expands a value as a shell does; it may contain a command substitution. */
const expandValue = (value = '') =>
  execFileSync('bash', ['-c', `printf %s "${value}"`], {
    cwd: project.folder,
    env: { ...process.env, ...shellEnv() },
    encoding: 'utf8',
  });

async function follow(step: GuideStep): Promise<void> {
  const cwd = project.folder;
  if (step.do === 'write') return writeFileSync(join(cwd, step.file), step.text);
  const { background, code, output, line } = step;
  const commands = prepareCommands(step.commands);
  if (background) {
    const started = startProcess('bash', ['-c', `exec env ${commands}`], {
      cwd,
      env: shellEnv(),
      outlivesTest: true,
    });
    running.push(started);
    await started.output(new RegExp(output?.trim() ?? ''));
    return;
  }
  // Both streams in the order of writing, as on a terminal.
  const ended = await startProcess('bash', ['-euc', `exec 2>&1\n${commands}`], { cwd, env: shellEnv() })
    .finished;
  expect({ line, code: ended.code, stdout: ended.stdout }).toMatchObject({ code });
  lastId = /^id +(\S+)$/m.exec(ended.stdout)?.[1] ?? lastId;
  if (output !== undefined)
    expect(withoutColours(ended.stdout), `line ${line}`).toMatch(outputPattern(output));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI colours of the test runner
const withoutColours = (text: string) => text.replaceAll(/\u001b\[\d*m/g, '');

describe('docs/guides/write-a-connector.md', () => {
  it('guide: every command prints the output shown in the guide', async () => {
    const steps = readGuide(await guideWithFreePorts());
    expect(steps.filter((step) => step.do === 'run').length).toBeGreaterThan(8);
    for (const step of steps) await follow(step);
    const [found] = await database.sql(
      `SELECT count(*)::int AS n, count(DISTINCT dedupe_key)::int AS keys FROM signals`,
    );
    expect(found).toEqual({ n: 25, keys: 25 });
    // No row contains the token in plain text.
    const rows = await database.sql<{ text: string }>(
      `SELECT row_to_json(c)::text AS text FROM credentials c UNION ALL SELECT row_to_json(a)::text FROM attempts a UNION ALL SELECT row_to_json(e)::text FROM events e`,
    );
    expect(rows.map(({ text }) => text).join()).not.toContain('open-sesame');
    expect(await database.sql('SELECT FROM connections WHERE credential_id IS NOT NULL')).toHaveLength(1);
  }, 600_000);

  it('guide: the provider has at most 40 lines, and the recording contains no token', () => {
    const provider = readGuide(guide).find((step) => step.do === 'write' && step.file === 'provider.mjs');
    expect(provider?.do === 'write' && provider.text.trim().split('\n').length).toBeLessThanOrEqual(40);
    expect(readFileSync(join(project.folder, 'tracker.jsonl'), 'utf8')).not.toContain('open-sesame');
  });
});
