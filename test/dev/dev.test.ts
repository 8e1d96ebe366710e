import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { runCli, startCli } from '../support/process.ts';

const database = useDatabase();
let folder: string;
let dataFolder: string | undefined;
beforeEach(() => {
  // Mode 0700: as root, Postgres runs as another user and must still start.
  folder = mkdtempSync(join(tmpdir(), 'syncline-dev-'));
});
afterEach(() => {
  for (const path of [folder, dataFolder]) if (path) rmSync(path, { recursive: true, force: true });
});

async function run(env: NodeJS.ProcessEnv, pattern: RegExp, meanwhile = async () => {}) {
  const service = startCli(['dev'], {
    cwd: folder,
    // Another test occupies the default port.
    env: { SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0', ...env },
  });
  await service.output(pattern);
  await meanwhile();
  service.process.kill('SIGINT');
  const { code, stdout } = await service.finished;
  expect(code).toBe(0);
  dataFolder = /data in (\S+)/.exec(stdout)?.[1] ?? dataFolder;
  return stdout;
}

describe('syncline dev (npm start)', () => {
  it('dev: runs an embedded Postgres with demo data and keeps it after a restart', async () => {
    const first = await run(
      { SYNCLINE_LOG_LEVEL: 'debug' },
      /tick: placed \d+ jobs.*synced \w+ …\w{6}: \d+ new signals/s,
    );
    expect(first).toMatch(/created demo data: 5 tenants, 24 connections/);
    expect(first).toMatch(/placed github …\w{6} for \d\d:\d\d:\d\d \(every \d+ s, jitter \d+ s\), next/);
    expect(first).toMatch(/GET \/\S+ → 200, \d+ characters/);
    const keyFile = join(folder, '.syncline', 'credentials.key');
    const key = readFileSync(keyFile, 'utf8');
    expect(key).toMatch(/^dev:[\w+/]{43}=\n$/);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(first).not.toContain(key.trim());
    const second = await run({}, /Dashboard/);
    expect(readFileSync(keyFile, 'utf8')).toBe(key);
    expect(second).toMatch(/using existing data/);
    expect(second).not.toMatch(/after a migration/);
  });

  it('dev: prints few lines at info and the dashboard address last, and breaks a provider on command', async () => {
    const output = await run({}, /demo load {2,}add .*\n\n/, async () => {
      const broken = await runCli(['demo', 'break', 'slack', '--json'], { cwd: folder });
      expect(broken).toMatchObject({ code: 0, stdout: '{"provider":"slack","broken":true}\n' });
      const healed = await runCli(['demo', 'heal', 'slack'], { cwd: folder });
      expect(healed.stdout).toMatch(/^Requests to slack succeed again/);
      const unknown = await runCli(['demo', 'break', 'slak'], { cwd: folder });
      expect(unknown).toMatchObject({
        code: 1,
        stderr:
          'error: The demo has no provider "slak". ' +
          'Use one of: github, slack, google-calendar, warehouse.\n',
      });
    });
    const [log, block] = output.split(/\n\n/) as [string, string];
    expect(log.split('\n').map((line) => line.replace(/^\S+ /, '').replace(/(at|in|") .*/, '$1 …'))).toEqual([
      'INFO: starting embedded Postgres, data in …',
      'INFO: metrics at …',
      'INFO: schema "syncline" …',
      'INFO: created demo data: 5 tenants, 24 connections',
      'INFO: API at …',
      'INFO: started: scheduler, executor, janitor',
      expect.stringMatching(/^INFO: tick: placed \d+ jobs \(\d+ ms\)$/),
    ]);
    expect(block).toMatch(
      /^ {2}Dashboard {2}http:\/\/127\.0\.0\.1:\d+\/login\?token=[\w-]{43}\n {13}one-time link/,
    );
    expect(output).not.toContain('\x1b');
  });

  it('dev: runs configured connectors without demo data', async () => {
    writeFileSync(
      join(folder, 'syncline.config.mjs'),
      `export default { connectors: [{ provider: 'mine', name: 'Mine', sync: async () => ({ signals: [] }) }] };`,
    );
    const output = await run({}, /tick: nothing due/);
    expect(output).toMatch(/starting embedded Postgres/);
    expect(output).not.toMatch(/demo/);
  });

  it('dev: migrates and uses a configured database without demo data', async () => {
    const schema = 'dev_here';
    const output = await run(
      { SYNCLINE_DATABASE_URL: database.url, SYNCLINE_DATABASE_SCHEMA: schema },
      /tick: nothing due/,
    );
    expect(output).toMatch(/schema "dev_here" is at version 17, after a migration/);
    expect(output).not.toMatch(/embedded|demo/);
    expect(await database.sql(`SELECT FROM ${schema}.tenants`)).toHaveLength(0);
  });
});
