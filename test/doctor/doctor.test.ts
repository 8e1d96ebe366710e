import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSyncline, systemPorts } from '../../src/index.ts';
import { expectedShape } from '../../src/store/health/expected.ts';
import {
  findConstraints,
  findFunctions,
  findIndexes,
  findTriggers,
  type PartRow,
} from '../../src/store/health/shape.ts';
import { tablesOf } from '../../src/store/scope.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { runCli } from '../support/process.ts';
import { finding, findingsIn } from './findings.ts';

const database = useDatabase();
const { sql } = database;
const key = `main:${randomBytes(32).toString('base64')}`;
const hour = 3600_000;

/** The findings of one check, now or `aheadMs` later. */
async function findingsOf(
  name: string,
  { aheadMs = 0, skewMs = 0, keys = [key] }: { aheadMs?: number; skewMs?: number; keys?: string[] } = {},
) {
  const engine = createSyncline({
    database: database.url,
    logger: silent,
    credentials: { keys },
    ports: {
      ...systemPorts,
      now: () => Date.now() + aheadMs + skewMs,
      databaseTime: () => (aheadMs === 0 ? null : new Date(Date.now() + aheadMs)),
    },
  });
  return findingsIn(await engine.doctor().finally(() => engine.stop()), name);
}

/** Source text of a module, wrapped at 110 columns. */
function moduleOf({ indexes, triggers, constraints, functions }: typeof expectedShape): string {
  const statements = [
    ...[...indexes, ...triggers].map(({ definition }) => definition),
    ...constraints.map(
      (part) => `ALTER TABLE ${part.table_name} ADD CONSTRAINT ${part.name} ${part.definition}`,
    ),
    ...functions.map((name) => `CREATE FUNCTION ${name}`),
  ];
  const lines = statements.map((statement) => wrap(`${statement};`).join('\n  '));
  return `/**
 * Generated from a migrated database: \`npx vitest run test/doctor/doctor.test.ts -u\` writes this file.
 */
export const expectedStatements = \`
${lines.join('\n')}
\`;
`;
}

function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line !== '' && line.length + word.length > 106) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

describe('the doctor', () => {
  it('doctor: every statement runs in a READ ONLY transaction', async () => {
    const statements: string[] = [];
    const query = <T>(statement: string, send: () => Promise<T>) => {
      statements.push(statement);
      return send();
    };
    const engine = database.engine({ ports: { ...systemPorts, query } });
    await engine.doctor();
    let inside = false;
    for (const statement of statements) {
      if (statement.startsWith('BEGIN'))
        expect(statement).toMatch(/^BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY, NOT DEFERRABLE; /);
      else expect(inside).toBe(true);
      inside = !/^(COMMIT|ROLLBACK)$/.test(statement);
    }
    expect(statements.filter((statement) => statement.startsWith('BEGIN')).length).toBeGreaterThan(20);
  });

  it('doctor: the expected schema equals the migrated schema', async () => {
    // Not "syncline": definitions are printed without the schema, and the setting syncline.triggers would
    // lose its prefix.
    await database.engine({ database: { url: database.url, schema: 'shape' } }).migrate();
    const tx = { schema: 'shape', tables: tablesOf('shape'), lookup: {} as never, query: database.sql };
    const without = (parts: PartRow[]) => parts.map(({ broken: _, ...part }) => part);
    const shape = {
      indexes: without(await findIndexes(tx)),
      triggers: without(await findTriggers(tx)),
      constraints: without(await findConstraints(tx)),
      functions: await findFunctions(tx),
    };
    await expect(moduleOf(shape)).toMatchFileSnapshot('../../src/store/health/expected-statements.ts');
    expect(shape).toEqual(expectedShape);
    expect(
      shape.triggers.filter(({ definition }) => definition.includes("'syncline.triggers'")),
    ).toHaveLength(7);
  });
});

describe('the doctor on a database with problems', () => {
  beforeEach(() => database.empty());

  it('DB-6: doctor reports a clock that differs from the database', async () => {
    expect(await findingsOf('clock', { skewMs: hour })).toEqual([
      finding('warning', /^This machine: the clock is 60 min ahead of the database's/, /NTP/),
    ]);
    expect(await findingsOf('clock', { skewMs: -3 * hour })).toEqual([
      finding('warning', /3 h behind the database's/, /NTP/),
    ]);
    expect(await findingsOf('clock', { skewMs: 10_000 })).toEqual([]);
    expect(await findingsOf('clock')).toEqual([]);
  });

  it.each(['false', 'no'])('doctor: reports tables with autovacuum_enabled = %s', async (off) => {
    await sql(`ALTER TABLE signals SET (autovacuum_enabled = ${off})`);
    expect(await findingsOf('vacuum')).toEqual([
      finding(
        'error',
        /^Autovacuum is off for signals/,
        /^ALTER TABLE signals RESET \(autovacuum_enabled\);$/,
      ),
    ]);
    await sql('ALTER TABLE signals RESET (autovacuum_enabled)');
  });

  it('doctor: reports a missing, non-unique or invalid index with the statement to create it', async () => {
    const definition = `UNIQUE INDEX idx_sync_jobs_running ON sync_jobs USING btree (connection_id) WHERE (status = 'running'::text)`;
    const createStatement =
      /^CREATE UNIQUE INDEX CONCURRENTLY idx_sync_jobs_running ON sync_jobs USING btree \(connection_id\) WHERE \(status = 'running'::text\);$/;
    await sql('DROP INDEX idx_sync_jobs_running');
    const missing = await findingsOf('indexes');
    expect(missing).toEqual([
      finding(
        'error',
        /idx_sync_jobs_running on sync_jobs is missing: uniqueness is not enforced/,
        createStatement,
      ),
    ]);
    await sql(`CREATE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running'`);
    expect(await findingsOf('indexes')).toEqual([
      finding(
        'error',
        /idx_sync_jobs_running is not unique/,
        /^DROP INDEX idx_sync_jobs_running; CREATE UNIQUE/,
      ),
    ]);
    await sql('DROP INDEX idx_sync_jobs_running');
    await sql(String(missing[0]?.remedy).replace(' CONCURRENTLY', ''));
    expect(await findingsOf('indexes')).toEqual([]);
    await sql(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_sync_jobs_running'::regclass`);
    expect(await findingsOf('indexes')).toEqual([
      finding(
        'error',
        /is invalid \(its build did not finish\)/,
        /^DROP INDEX idx_sync_jobs_running; CREATE UNIQUE/,
      ),
    ]);
    await sql('DROP INDEX idx_sync_jobs_running');
    await sql(`CREATE ${definition}`);
  });

  it('doctor: reports missing and disabled triggers', async () => {
    await sql('ALTER TABLE sync_jobs DISABLE TRIGGER after_update');
    expect(await findingsOf('triggers')).toEqual([
      finding(
        'error',
        /after_update on sync_jobs is disabled/,
        /^ALTER TABLE sync_jobs ENABLE TRIGGER after_update;/,
      ),
    ]);
    await sql('ALTER TABLE sync_jobs ENABLE TRIGGER after_update');
    await sql('DROP TRIGGER give_position ON feed');
    const found = await findingsOf('triggers');
    expect(found).toEqual([
      finding(
        'error',
        /give_position on feed is missing/,
        /^CREATE CONSTRAINT TRIGGER give_position AFTER INSERT ON feed DEFERRABLE/,
      ),
    ]);
    await sql(String(found[0]?.remedy));
    expect(await findingsOf('triggers')).toEqual([]);
  });

  it('doctor: reports missing and unvalidated constraints', async () => {
    await sql('ALTER TABLE webhooks DROP CONSTRAINT webhooks_connection_id_fkey');
    const found = await findingsOf('constraints');
    expect(found).toEqual([
      finding(
        'error',
        /webhooks_connection_id_fkey of webhooks is missing/,
        /^ALTER TABLE webhooks ADD CONSTRAINT webhooks_connection_id_fkey FOREIGN KEY/,
      ),
    ]);
    await sql(`${String(found[0]?.remedy).replace(/;$/, '')} NOT VALID`);
    const unchecked = await findingsOf('constraints');
    expect(unchecked).toEqual([
      finding('warning', /was never validated/, /VALIDATE CONSTRAINT webhooks_connection_id_fkey;$/),
    ]);
    await sql(String(unchecked[0]?.remedy));
    expect(await findingsOf('constraints')).toEqual([]);
  });

  it('doctor: reports missing functions', async () => {
    await sql('ALTER FUNCTION wake_executors(text) RENAME TO gone');
    expect(await findingsOf('functions')).toEqual([
      finding('error', /^Function wake_executors is missing/, /migrations/),
    ]);
    await sql('ALTER FUNCTION gone(text) RENAME TO wake_executors');
  });

  it('doctor: reports missing privileges', async () => {
    const role = `doctor_${randomUUID().slice(0, 8)}`;
    await sql(`CREATE ROLE ${role} LOGIN PASSWORD 'hidden-word'`);
    try {
      await sql(`GRANT USAGE ON SCHEMA syncline TO ${role}`);
      await sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA syncline TO ${role}`);
      await sql(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA syncline TO ${role}`);
      await sql(`REVOKE SELECT, INSERT ON signals FROM ${role}`);
      const url = new URL(database.url);
      Object.assign(url, { username: role, password: 'hidden-word' });
      const { code, stdout, stderr } = await runCli(['doctor'], { env: { SYNCLINE_DATABASE_URL: url.href } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toContain(
        `error: Database role ${role} lacks the privilege INSERT, SELECT ON syncline.signals.\n      → GRANT INSERT, SELECT ON syncline.signals TO ${role};`,
      );
      expect(stdout).toContain('? feed (could not run: ');
      expect(stdout).not.toContain('hidden-word');
    } finally {
      await sql(`DROP OWNED BY ${role}`);
      await sql(`DROP ROLE ${role}`);
    }
  });

  it('doctor: reports a missing scheduler and a missing executor', async () => {
    expect(await findingsOf('scheduler')).toEqual([
      finding('error', /^No scheduler has run/, /--roles scheduler/),
    ]);
    expect(await findingsOf('executors')).toEqual([
      finding('error', /^No executor has a lease/, /--roles executor/),
    ]);
    await sql(`INSERT INTO schedulers VALUES ($1, 'here', 1, now(), now() - interval '10 minutes', 1, 0)`, [
      randomUUID(),
    ]);
    expect(await findingsOf('scheduler')).toEqual([
      finding('error', /^The last scheduler tick was 10 min ago/, /--roles scheduler/),
    ]);
    await sql('DELETE FROM schedulers');
  });

  it('doctor: between runs from cron, no scheduler and no executor are needed', async () => {
    await database.engine().tick();
    await sql(`UPDATE schedulers SET started_at = started_at - interval '5 minutes'`);
    await database.job(await database.connect(), { scheduled_at: new Date().toISOString() });
    const between = { aheadMs: hour / 6 };
    for (const check of ['scheduler', 'executors', 'providers without an executor', 'overdue connections'])
      expect([check, await findingsOf(check, between)]).toEqual([check, []]);
    const { checks } = await database.engine().doctor();
    expect(checks.find(({ name }) => name === 'scheduler')?.detail).toMatch(/^cron style: last tick .+ ago$/);
    expect(checks.find(({ name }) => name === 'executors')?.detail).toBe('cron style: none between runs');
    const missed = { aheadMs: 2 * hour };
    expect(await findingsOf('scheduler', missed)).toEqual([
      finding('error', /^The last scheduler tick was 2 h/, /cron job that runs `syncline tick`/),
    ]);
    expect(await findingsOf('executors', missed)).toHaveLength(1);
    await sql('DELETE FROM schedulers');
  });

  it('doctor: a tick by hand does not count as cron and reports the missing scheduler', async () => {
    await database.engine().tick();
    expect(await findingsOf('scheduler')).toEqual([
      finding(
        'warning',
        /^The last tick was run by hand .* no scheduler process is running/,
        /--roles scheduler/,
      ),
    ]);
    expect(await findingsOf('executors')).toHaveLength(1);
    expect(await findingsOf('scheduler', { aheadMs: hour / 6 })).toEqual([
      finding('error', /^The last scheduler tick was 10 min/, /--roles scheduler/),
    ]);
    await sql('DELETE FROM schedulers');
  });

  it('doctor: repeated ticks by hand do not hide a scheduler that died within the hour', async () => {
    await database.engine().tick();
    await sql(`UPDATE schedulers SET started_at = started_at - interval '20 minutes'`);
    await sql(`INSERT INTO schedulers VALUES ($1, 'here', 1, now(), now() - interval '30 minutes', 1, 0)`, [
      randomUUID(),
    ]);
    expect(await findingsOf('scheduler')).toEqual([finding('warning', /run by hand/, /--roles scheduler/)]);
    await sql('DELETE FROM schedulers');
  });

  it('doctor: ticks more than an hour apart do not count as cron', async () => {
    await database.engine().tick();
    await sql(
      `UPDATE schedulers SET started_at = now() - interval '1 day', ticked_at = now() - interval '2 hours'`,
    );
    await database.engine().tick();
    expect(await findingsOf('scheduler')).toEqual([finding('warning', /run by hand/, /--roles scheduler/)]);
    await sql('DELETE FROM schedulers');
  });

  it('doctor: reports due connections without a job', async () => {
    await database.connect({ metadata: { sync: { next_run_at: '2025-01-01T00:00:00Z' } } });
    expect(await findingsOf('overdue connections', { aheadMs: hour })).toEqual([
      finding('error', /^1 active connection is due without a job/, /syncline tick/),
    ]);
    expect(await findingsOf('overdue connections')).toEqual([]);
  });

  it('doctor: reports due jobs without an executor, and due jobs that wait too long', async () => {
    await database.job(await database.connect());
    expect(await findingsOf('providers without an executor')).toEqual([
      finding('error', /^Jobs of "github" are due, and no running executor/, /--provider github/),
    ]);
    await sql(
      `INSERT INTO processes VALUES ($1, 'here', 1, 1, '{github}', now(), now() + interval '1 hour')`,
      [randomUUID()],
    );
    expect(await findingsOf('providers without an executor')).toEqual([]);
    expect(await findingsOf('executor capacity')).toEqual([
      finding('warning', /^A job of "github" has been due for /, /SYNCLINE_EXECUTOR_CONCURRENCY/),
    ]);
  });

  it('EXE-9: doctor reports running jobs of dead processes', async () => {
    const claimed = { status: 'running', process_id: randomUUID(), claim_id: randomUUID() };
    const id = await database.job(await database.connect(), claimed);
    expect(await findingsOf('jobs of dead processes', { aheadMs: hour })).toEqual([
      finding('error', new RegExp(`^1 job is marked as running.*${id}`), /syncline start --roles executor/),
    ]);
    expect(await findingsOf('jobs of dead processes')).toEqual([]);
  });

  it('EXE-9: doctor reports a job of another writer that runs for more than a day', async () => {
    const connection = await database.connect();
    const id = await database.job(connection, { status: 'running', started_at: new Date().toISOString() });
    expect(await findingsOf('jobs of external workers', { aheadMs: 23 * hour })).toEqual([]);
    expect(await findingsOf('jobs of external workers', { aheadMs: 73 * hour })).toEqual([
      finding(
        'warning',
        new RegExp(
          `^1 job is marked as running by a worker that Syncline does not manage, for up to 3 d.*${id}`,
        ),
        new RegExp(`syncline jobs cancel ${id}$`),
      ),
    ]);
    expect(await findingsOf('jobs of dead processes', { aheadMs: 73 * hour })).toEqual([]);
    const env = { SYNCLINE_DATABASE_URL: database.url };
    const { code, stdout } = await runCli(['jobs', 'cancel', id], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Job ${id} is cancelled.\n` });
    expect(await findingsOf('jobs of external workers', { aheadMs: 73 * hour })).toEqual([]);
    const engine = database.engine();
    expect((await engine.tick({ at: new Date(Date.now() + hour) })).scheduled).toBe(1);
  });

  it('EXE-9: doctor reports a job of another writer by its start, also after a later hint', async () => {
    const connection = await database.connect();
    const started_at = new Date(Date.now() - 73 * hour).toISOString();
    const id = await database.job(connection, { status: 'running', started_at });
    const stuck = [finding('warning', new RegExp(`for up to 3 d.*${id}`), new RegExp(`cancel ${id}$`))];
    expect(await findingsOf('jobs of external workers')).toEqual(stuck);
    await database.engine().connections.trigger(connection);
    await sql('UPDATE sync_jobs SET updated_at = now()');
    expect(await findingsOf('jobs of external workers')).toEqual(stuck);
  });

  it('EXE-3: doctor reports two running jobs of a connection without the unique index', async () => {
    expect(await findingsOf('duplicate jobs')).toEqual([]);
    const connection = await database.connect();
    await sql('DROP INDEX idx_sync_jobs_running');
    for (const job_type of ['full', 'incremental'])
      await database.job(connection, { job_type, status: 'running' });
    expect(await findingsOf('duplicate jobs')).toEqual([
      finding(
        'error',
        /runs two jobs in parallel/,
        new RegExp(
          `syncline jobs list --connection ${connection}; syncline jobs cancel <id>; .*idx_sync_jobs_running`,
        ),
      ),
    ]);
    await database.empty();
    await sql(
      `CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running'`,
    );
  });

  it('doctor: reports wrong flags, and its remedies correct them', async () => {
    const connection = await database.connect();
    await sql(`UPDATE connections SET waits_for_job = true`);
    const [waiting] = await findingsOf('flags: waits_for_job');
    expect(waiting).toEqual(
      finding(
        'error',
        /^1 connection is waiting for a job that does not exist/,
        /^UPDATE connections SET waits_for_job = false/,
      ),
    );
    await database.job(connection);
    await sql('UPDATE sync_jobs SET blocked = true');
    const [blocked] = await findingsOf('flags: blocked');
    expect(blocked).toEqual(
      finding('error', /^Jobs of 1 connection are marked as blocked/, /^SELECT unblock_siblings/),
    );
    await sql(String(waiting?.remedy));
    await sql(String(blocked?.remedy));
    expect([...(await findingsOf('flags: waits_for_job')), ...(await findingsOf('flags: blocked'))]).toEqual(
      [],
    );
  });

  it('doctor: reports a due_at that differs from metadata, and its remedy corrects it', async () => {
    await database.connect({ metadata: { sync: { next_run_at: '2031-01-01T00:00:00Z' } } });
    const session = await database.session();
    await session.query(
      `SET syncline.due_at = 'written'; UPDATE syncline.connections SET due_at = '-infinity'`,
    );
    const [wrong] = await findingsOf('due_at');
    expect(wrong).toEqual(
      finding('error', /^1 connection has a due_at that differs from/, /^UPDATE connections SET metadata/),
    );
    await sql(String(wrong?.remedy));
    expect(await findingsOf('due_at')).toEqual([]);
  });

  it('doctor: reports rows of connection_lookup that differ from connections, and the remedies correct them', async () => {
    await database.connect();
    await sql('DELETE FROM connection_lookup');
    const session = await database.session();
    await session.query(
      `SET session_replication_role = replica;
       INSERT INTO syncline.connection_lookup VALUES (gen_random_uuid(), '${tenant}', NULL)`,
    );
    const findings = await findingsOf('connection_lookup');
    expect(findings).toEqual([
      finding('error', /^1 connection has a missing or different row/, /^INSERT INTO connection_lookup/),
      finding(
        'warning',
        /^1 row of connection_lookup without a connection/,
        /^DELETE FROM connection_lookup/,
      ),
    ]);
    for (const { remedy } of findings) await sql(remedy);
    expect(await findingsOf('connection_lookup')).toEqual([]);
    await sql(`UPDATE connection_lookup SET external_id = 'other'`);
    const [different] = await findingsOf('connection_lookup');
    await sql(String(different?.remedy));
    expect(await findingsOf('connection_lookup')).toEqual([]);
  });

  it('doctor: checks and reports a sample of many connections', async () => {
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, waits_for_job) SELECT $1, 'github', true FROM generate_series(1, 1000)`,
      [tenant],
    );
    // A row estimate above the limit for a complete check.
    await sql(`UPDATE pg_class SET reltuples = 21000 WHERE oid = 'connections'::regclass`);
    const { checks } = await database.engine().doctor();
    // Deleting the rows keeps the estimate, and later tests expect a complete check.
    await sql(`UPDATE pg_class SET reltuples = -1 WHERE oid = 'connections'::regclass`);
    expect(checks.find(({ name }) => name === 'flags: waits_for_job')).toMatchObject({
      detail: expect.stringMatching(/^a sample of \d+ connections checked$/),
      findings: [
        finding(
          'error',
          /^\d+ connections are waiting for a job that does not exist.* and \d+ more\.$/,
          /^UPDATE connections/,
        ),
      ],
    });
  });

  it('DB-3: doctor reports invalid metadata without its values', async () => {
    await database.connect({ metadata: { sync: { interval_seconds: 'a secret', next_run_at: 7 } } });
    const id = await database.connect({ metadata: { sync: 'another secret' } });
    await sql(`UPDATE connections SET schedule = '{"cron": "a secret"}' WHERE id = $1`, [id]);
    const found = await findingsOf('metadata.sync');
    expect(found).toEqual([
      finding(
        'warning',
        /^2 connections have invalid fields .*\(interval_seconds, next_run_at\).*\(metadata.sync, schedule\)/,
        /connections show/,
      ),
    ]);
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  it('FEED-1: doctor reports signals without a feed position, and its remedy assigns one', async () => {
    const connection = await database.connect();
    await sql('ALTER TABLE signals DISABLE TRIGGER enter_feed');
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'github', $2, 'item', now(), '{}')`,
      [tenant, connection],
    );
    await sql('ALTER TABLE signals ENABLE TRIGGER enter_feed');
    const [found] = await findingsOf('feed');
    expect(found).toEqual(
      finding('error', /^1 of the newest 1 signals have no position in the feed/, /INSERT INTO feed/),
    );
    for (const statement of String(found?.remedy)
      .replace(/^.*then: /, '')
      .split('; '))
      await sql(statement);
    expect(await findingsOf('feed')).toEqual([]);
  });

  it('FEED-4: doctor reports a feed sequence that is behind, and repairs it only with --fix', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'github', $2, 'item', now(), '{}')`,
      [tenant, connection],
    );
    await sql(`SELECT setval('feed_position', 1, false)`);
    const behind = finding('error', /^The feed sequence is at 0, behind \d+,/, /^syncline doctor --fix$/);
    expect(await findingsOf('feed')).toEqual([behind]);
    expect(await findingsOf('feed')).toEqual([behind]);
    const env = { SYNCLINE_DATABASE_URL: database.url, SYNCLINE_CREDENTIALS_KEYS: key };
    const { stdout } = await runCli(['doctor', '--fix'], { env });
    expect(stdout).toMatch(/^Fixed\n {2}✓ Moved the feed sequence from 0 to \d+, /);
    expect(await findingsOf('feed')).toEqual([]);
    const again = JSON.parse((await runCli(['doctor', '--fix', '--json'], { env })).stdout) as {
      fixed: unknown;
    };
    expect(again.fixed).toEqual([]);
  });

  it('doctor: counts connections that need authorization and connections that fail', async () => {
    await database.connect({ status: 'needs_auth' });
    expect(await findingsOf('connections that need authorization')).toEqual([
      finding(
        'warning',
        /^1 connection of "github" waits for authorization: no cred/,
        /--status needs_auth$/,
      ),
    ]);
    await sql('UPDATE connections SET last_incremental_ended_at = now()');
    expect(await findingsOf('connections that need authorization')).toEqual([
      finding('warning', /^1 connection of "github" cannot sync/, /--status needs_auth$/),
    ]);
    const failing = await database.connect();
    await sql(
      `UPDATE connections SET failing_since = now() - interval '1 hour', failure = 'transient' WHERE id = $1`,
      [failing],
    );
    expect(await findingsOf('failing connections')).toEqual([
      finding(
        'warning',
        /^1 connection of "github" has been failing \(transient\) for up to 60 min/,
        new RegExp(`why ${failing}$`),
      ),
    ]);
  });

  it('doctor: reports credentials that cannot be decrypted, without key or secret', async () => {
    const engine = database.engine({ credentials: { keys: [key] } });
    const { id } = await engine.credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: { type: 'api_key', key: 'a-very-secret-word' },
    });
    expect(await findingsOf('credential decryption')).toEqual([]);
    const other = `other:${randomBytes(32).toString('base64')}`;
    const unknown = await findingsOf('credential decryption', { keys: [other] });
    expect(unknown).toEqual([
      finding(
        'error',
        /^Key "main" is not configured here but encrypts 1 of the last 1 rows of credentials/,
        /SYNCLINE_CREDENTIALS_KEYS/,
      ),
    ]);
    await sql(`UPDATE credentials SET sealed = sealed || '\\x00', refused_at = now() WHERE id = $1`, [id]);
    const corrupted = await findingsOf('credential decryption');
    expect(corrupted).toEqual([
      finding(
        'error',
        /^1 of the last 1 rows of credentials cannot be decrypted with their key \("main"\)/,
        /replace the credentials/,
      ),
      finding('warning', /^1 credential was refused/, /credentials list/),
    ]);
    const shown = JSON.stringify([unknown, corrupted]);
    for (const secret of ['a-very-secret-word', key.slice(5), other.slice(6)])
      expect(shown).not.toContain(secret);
  });

  it('SCH-8: doctor reports ended jobs older than their retention', async () => {
    await database.ended(await database.connect(), '2025-01-01T00:00:00Z');
    expect(await findingsOf('retention')).toEqual([
      finding(
        'warning',
        /^Ended jobs are kept for 7 days, and the oldest is \d+ days old/,
        /--roles janitor/,
      ),
    ]);
  });
});
