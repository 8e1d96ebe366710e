import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { startCli } from '../support/process.ts';

const database = useDatabase();
let folder: string;
let dataFolder: string | undefined;
beforeEach(() => {
  // Only its owner may enter it: as root, Postgres runs as somebody else and must cope.
  folder = mkdtempSync(join(tmpdir(), 'syncline-dev-'));
});
afterEach(() => {
  for (const made of [folder, dataFolder]) if (made) rmSync(made, { recursive: true, force: true });
});

async function run(env: NodeJS.ProcessEnv, pattern: RegExp) {
  const service = startCli(['dev'], {
    cwd: folder,
    // The usual port is for a test that has it taken.
    env: { SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0', ...env },
  });
  await service.output(pattern);
  service.process.kill('SIGINT');
  const { code, stdout } = await service.finished;
  expect(code).toBe(0);
  dataFolder = /its data in (\S+)/.exec(stdout)?.[1] ?? dataFolder;
  return stdout;
}

describe('syncline dev, which is npm start', () => {
  it('runs on an embedded Postgres with a demo, and a restart goes on with it', async () => {
    const first = await run({}, /tick: placed \d+ jobs.*synced \w+ …\w{6}: \d+ new signals/s);
    expect(first).toMatch(/made a demo: 5 tenants, 24 connections/);
    expect(first).toMatch(/placed github …\w{6} for \d\d:\d\d:\d\d \(every \d+ s, jitter \d+ s\), next/);
    expect(first).toMatch(/GET \/\S+ → 200, \d+ characters/);
    const keyFile = join(folder, '.syncline', 'credentials.key');
    const key = readFileSync(keyFile, 'utf8');
    expect(key).toMatch(/^dev:[\w+/]{43}=\n$/);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(first).not.toContain(key.trim());
    const second = await run({}, /tick: /);
    expect(readFileSync(keyFile, 'utf8')).toBe(key);
    expect(second).toMatch(/going on with the data that is there/);
    expect(second).not.toMatch(/just migrated/);
  });

  it('with connectors of your own it runs those, and makes no demo', async () => {
    writeFileSync(
      join(folder, 'syncline.config.mjs'),
      `export default { connectors: [{ provider: 'mine', name: 'Mine', sync: async () => ({ signals: [] }) }] };`,
    );
    const output = await run({}, /tick: nothing due/);
    expect(output).toMatch(/starting an embedded Postgres/);
    expect(output).not.toMatch(/demo/);
  });

  it('with a database configured it migrates and runs there, and makes no demo', async () => {
    const schema = 'dev_here';
    const output = await run(
      { SYNCLINE_DATABASE_URL: database.url, SYNCLINE_DATABASE_SCHEMA: schema },
      /tick: nothing due/,
    );
    expect(output).toMatch(/schema "dev_here" is at version 10, just migrated/);
    expect(output).not.toMatch(/embedded|demo/);
    expect(await database.sql(`SELECT FROM ${schema}.tenants`)).toHaveLength(0);
  });
});
