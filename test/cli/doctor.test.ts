import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { createSyncline, type DoctorReport, type Syncline, systemPorts } from '../../src/index.ts';
import { finding, findingsIn } from '../doctor/findings.ts';
import { connector } from '../support/connector.ts';
import { silent } from '../support/database.ts';
import { runCli, runCliProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const key = `main:${randomBytes(32).toString('base64')}`;
const hour = 3600_000;

describe('syncline doctor on a healthy fleet', () => {
  let server: EmbeddedPostgres;
  let fleet: Syncline;
  const options = () => ({ env: { SYNCLINE_DATABASE_URL: server.url, SYNCLINE_CREDENTIALS_KEYS: key } });
  const doctor = (...args: string[]) => runCli(['doctor', ...args], options());
  const onServer = async (text: string, options?: string) => {
    const client = new pg.Client({ connectionString: server.url, ...(options && { options }) });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };

  beforeAll(async () => {
    // A separate server: the shared one is not durable, which doctor reports.
    server = await startEmbeddedPostgres({
      ports: systemPorts,
      folder: mkdtempSync(join(tmpdir(), 'syncline-doctor-')),
      keep: false,
      settings: { max_prepared_transactions: '5', max_connections: '40' },
    });
    fleet = createSyncline({
      database: server.url,
      logger: silent,
      connectors: [connector()],
      credentials: { keys: [key] },
    });
    await fleet.migrate();
    const { id } = await fleet.tenants.create({ name: 'a tenant' });
    await fleet.connections.create({ tenantId: id, provider: 'github' });
    await fleet.start();
    await until(
      'a run has succeeded',
      async () => (await fleet.jobs.list({ status: 'succeeded' })).items.length > 0,
    );
  });
  afterAll(async () => {
    await fleet?.stop();
    await server?.stop();
  });

  it('doctor: reports no problems and exits with 0', async () => {
    const { code, stdout, stderr } = await runCliProcess(['doctor'], options());
    expect({ code, stderr, bad: stdout.split('\n').filter((line) => /^ +[^✓ ]/.test(line)) }).toEqual({
      code: 0,
      stderr: '',
      bad: [],
    });
    expect(stdout).toMatch(/^Server\n {2}✓ server version \(Postgres /);
    expect(stdout).toMatch(/\nNo problems found \(\d\d checks\)\.\n$/);
  });

  it('doctor: reports no problems as JSON', async () => {
    const { code, stdout } = await doctor('--json');
    const { outcome, checks } = JSON.parse(stdout) as DoctorReport;
    expect({ code, outcome, findings: checks.flatMap(({ findings }) => findings) }).toEqual({
      code: 0,
      outcome: 'ok',
      findings: [],
    });
  });

  it('doctor: --help lists exit codes and examples', async () => {
    const { stdout } = await runCliProcess(['doctor', '--help']);
    expect(stdout).toMatch(/Exit code: 0 if healthy[\s\S]*Examples:\n {2}\$ syncline doctor\n/);
  });

  it('doctor: exits with 1 if durability or autovacuum is disabled', async () => {
    await onServer(`ALTER SYSTEM SET fsync = off`);
    await onServer(`ALTER SYSTEM SET full_page_writes = off`);
    await onServer(`ALTER SYSTEM SET synchronous_commit = off`);
    await onServer(`ALTER SYSTEM SET autovacuum = off`);
    await onServer('SELECT pg_reload_conf()');
    await until('the server has read its settings', async () => (await doctor()).code === 1);
    const { stdout } = await doctor();
    for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'])
      expect(stdout).toContain(`→ ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf();`);
    await onServer('ALTER SYSTEM RESET ALL');
    await onServer('SELECT pg_reload_conf()');
    await until('the server has read its settings', async () => (await doctor()).code === 0);
  });

  it('doctor: warns if another process would exceed max_connections', async () => {
    const large = createSyncline({ database: { url: server.url, poolSize: 40 }, logger: silent });
    const found = findingsIn(await large.doctor().finally(() => large.stop()), 'free database connections');
    expect(found).toEqual([
      finding('warning', /^Free connections: \d+\. One more process can open up to 41/, /max_connections/),
    ]);
  });

  it('doctor: names the owners of old snapshots, the oldest first, without the text of their statements', async () => {
    const session = new pg.Client({ connectionString: server.url, application_name: 'a forgotten console' });
    await session.connect();
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await session.query(`SELECT 'a secret'`);
    await onServer(`BEGIN; CREATE TABLE forgotten (); PREPARE TRANSACTION 'forgotten'`);
    const later = createSyncline({
      database: server.url,
      logger: silent,
      ports: { ...systemPorts, databaseTime: () => new Date(Date.now() + hour) },
    });
    const found = findingsIn(await later.doctor(), 'old transactions').filter(({ message }) =>
      /a forgotten console|"forgotten"/.test(message),
    );
    await later.stop();
    await session.end();
    await onServer(`ROLLBACK PREPARED 'forgotten'`);
    expect(found).toEqual([
      finding(
        'warning',
        /^Session \d+ \(a forgotten console, user syncline, from 127\.0\.0\.1, idle in transaction, last statement SELECT\) has been in a transaction since \S+Z \(60 min\)\. Its oldest snapshot is \d+ transactions old: until it ends, vacuum cannot/,
        /^SELECT pg_terminate_backend\(\d+\);$/,
      ),
      finding(
        'warning',
        /^Prepared transaction "forgotten" of syncline has waited since \S+Z \(60 min\)\. Its oldest snapshot is \d+ transactions old/,
        /ROLLBACK PREPARED 'forgotten';$/,
      ),
    ]);
    expect(JSON.stringify(found)).not.toContain('a secret');
  });

  it('doctor: reports a read-only server', async () => {
    await onServer('ALTER SYSTEM SET default_transaction_read_only = on');
    await onServer('SELECT pg_reload_conf()');
    const { code, stdout } = await doctor();
    await onServer(
      'ALTER SYSTEM RESET default_transaction_read_only',
      '-c default_transaction_read_only=off',
    );
    await onServer('SELECT pg_reload_conf()', '-c default_transaction_read_only=off');
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('✗ server accepts writes') });
  });

  it('doctor: exits with 2 if the database is unreachable, without printing the password', async () => {
    const url = new URL(server.url);
    url.port = '1';
    const { code, stdout, stderr } = await runCliProcess(['doctor'], {
      env: { SYNCLINE_DATABASE_URL: url.href },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: Postgres at 127\.0\.0\.1:1 cannot be reached/);
    expect(stderr).not.toContain(url.password);
  });

  it('doctor: reports a missing schema and skips checks that need it', async () => {
    const { code, stdout } = await runCli(['doctor'], {
      env: { SYNCLINE_DATABASE_URL: server.url, SYNCLINE_DATABASE_SCHEMA: 'nowhere' },
    });
    expect(code).toBe(1);
    expect(stdout).toContain(
      'error: The database has no Syncline schema "nowhere" yet.\n      → Run `syncline migrate` first.',
    );
    expect(stdout).toContain('? indexes (could not run: the schema version does not match this release)');
  });
});
