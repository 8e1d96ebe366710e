import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSyncline, type Syncline, type SynclineOptions } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { silent } from '../support/database.ts';
import { until } from '../support/until.ts';
import { crm, doEverything, makeEverything } from './everything.ts';
import { type RoleDatabase, useRoleDatabase } from './role-database.ts';

const database = useRoleDatabase();
const existing = useRoleDatabase();
const { as } = database;
const keys = [`k1:${randomBytes(32).toString('base64')}`];

const engines: Syncline[] = [];
function engine(options: SynclineOptions = {}): Syncline {
  const made = createSyncline({
    database: database.urlOf('app'),
    logger: silent,
    connectors: [crm],
    credentials: { keys },
    rateLimit: { baseSeconds: 1, maxSeconds: 1 },
    ...options,
  });
  engines.push(made);
  return made;
}
afterAll(() => Promise.all(engines.map((syncline) => syncline.stop())));

async function migrateAs(url: string): Promise<void> {
  const owner = createSyncline({ database: url, logger: silent });
  try {
    await owner.migrate();
  } finally {
    await owner.stop();
  }
}

beforeAll(async () => {
  await as('admin', `CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.secrets (text text)`);
  await database.runGuideBlock('setup');
  await migrateAs(database.urlOf('owner'));
  await database.runGuideBlock('migrated');
  await database.runGuideBlock('strict');
});

const privileges = ({ as: asRole, urlOf }: RoleDatabase) =>
  asRole<{ name: string; may: string[] }>(
    'admin',
    `SELECT c.relname AS name, ARRAY(
       SELECT p FROM unnest(ARRAY['SELECT','INSERT','UPDATE','DELETE','TRUNCATE','REFERENCES','TRIGGER']) AS p
       WHERE has_table_privilege(r.oid, c.oid, p)) AS may
     FROM pg_class c, pg_roles r
     WHERE c.relnamespace = 'syncline'::regnamespace AND c.relkind IN ('r', 'p') AND r.rolname = $1 ORDER BY 1`,
    [new URL(urlOf('app')).username],
  );

function expectRowsOnly(tables: { name: string; may: string[] }[]): void {
  expect(tables.length).toBeGreaterThan(15);
  for (const { name, may } of tables)
    expect([name, may]).toEqual([
      name,
      name === 'schema_migrations' ? ['SELECT'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    ]);
}

describe('least privilege: the app role', () => {
  it('least privilege: the app role reads and writes rows of every table and has no other privilege', async () => {
    expectRowsOnly(await privileges(database));
    const [role] = await as(
      'admin',
      `SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,
         (SELECT count(*)::int FROM pg_auth_members WHERE member = r.oid) AS memberships,
         (SELECT count(*)::int FROM pg_class WHERE relowner = r.oid) AS owned
       FROM pg_roles r WHERE rolname = $1`,
      [new URL(database.urlOf('app')).username],
    );
    expect(role).toEqual({
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
      memberships: 0,
      owned: 0,
    });
  });

  it('least privilege: the app role runs scheduler, executor, janitor and all operations of the API', async () => {
    const service = await startService({ engine });
    const made = await makeEverything(service);
    const count = async (what: string) =>
      (await as<{ n: number }>('admin', `SELECT count(*)::int AS n FROM syncline.${what}`))[0]?.n ?? 0;
    await service.syncline.start();
    await until('all connections were synced', async () => (await count('signals')) >= 9);
    expect(await count(`attempts WHERE outcome = 'retried'`)).toBe(1);
    await doEverything(service, made);

    // Everything is past retention now.
    await as(
      'admin',
      `UPDATE syncline.sync_jobs SET finished_at = now() - interval '99 days' WHERE finished_at IS NOT NULL;
       UPDATE syncline.events SET created_at = now() - interval '999 days';
       UPDATE syncline.feed SET created_at = now() - interval '99 days';
       UPDATE syncline.rollups SET minute = minute - interval '99 days';
       UPDATE syncline.sessions SET expires_at = now() - interval '1 day';
       UPDATE syncline.authorizations SET expires_at = now() - interval '1 day';
       UPDATE syncline.budgets SET resets_at = now() - interval '99 days', opens_at = now() - interval '99 days'`,
    );
    const janitor = engine({ retention: { signalsDays: 30 } });
    await janitor.start({ roles: ['janitor'] });
    await until('all old rows are deleted', async () => {
      const old = (table: string, column: string) =>
        count(`${table} WHERE ${column} < now() - interval '50 days'`);
      const left = await Promise.all([
        old('sync_jobs', 'finished_at'),
        old('events', 'created_at'),
        old('feed', 'created_at'),
        old('rollups', 'minute'),
        old('budgets', 'resets_at'),
        count('sessions'),
        count('authorizations'),
      ]);
      return left.every((n) => n === 0);
    });
  });

  it.each([
    ['creates a table', 'CREATE TABLE syncline.mine (id int)'],
    ['creates a table elsewhere', 'CREATE TABLE public.mine (id int)'],
    ['creates a temporary table', 'CREATE TEMPORARY TABLE mine (id int)'],
    ['creates a schema', 'CREATE SCHEMA mine'],
    ['creates a function', `CREATE FUNCTION syncline.f() RETURNS int LANGUAGE sql AS 'SELECT 1'`],
    [
      'replaces a function',
      `CREATE OR REPLACE FUNCTION syncline.wake_executors(reason text) RETURNS void LANGUAGE sql AS ''`,
    ],
    [
      'creates a trigger',
      'CREATE TRIGGER t AFTER INSERT ON syncline.signals EXECUTE FUNCTION syncline.enter_feed()',
    ],
    ['creates an index', 'CREATE INDEX ON syncline.signals (kind)'],
    ['alters a table', 'ALTER TABLE syncline.signals ADD COLUMN mine int'],
    ['disables triggers', 'ALTER TABLE syncline.sync_jobs DISABLE TRIGGER ALL'],
    ['disables triggers for its session', 'SET session_replication_role = replica'],
    ['drops a table', 'DROP TABLE syncline.signals'],
    ['drops the schema', 'DROP SCHEMA syncline CASCADE'],
    ['truncates a table', 'TRUNCATE syncline.signals'],
    ['truncates with CASCADE', 'TRUNCATE syncline.sync_jobs CASCADE'],
    ['writes schema_migrations', `INSERT INTO syncline.schema_migrations VALUES (99, '0099_mine')`],
    ['sets the feed sequence', `SELECT setval('syncline.feed_position', 1)`],
    ['reads another schema', 'SELECT * FROM elsewhere.secrets'],
    ['writes another schema', `INSERT INTO elsewhere.secrets VALUES ('x')`],
    ['reads password hashes', 'SELECT * FROM pg_authid'],
    ['reads a file of the server', `SELECT pg_read_file('/etc/passwd')`],
    ['runs a program on the server', `COPY (SELECT 1) TO PROGRAM 'true'`],
    ['creates a role', 'CREATE ROLE mine'],
  ])('least privilege: the app role is denied when it %s', async (_, statement) => {
    // 42501: insufficient_privilege.
    await expect(as('app', statement)).rejects.toMatchObject({ code: '42501' });
  });

  it('FEED-4: repairs a feed sequence that is behind without the privilege to set it', async () => {
    await as('admin', `SELECT setval('syncline.feed_position', 1, false)`);
    const highest = `SELECT greatest((SELECT max(position) FROM syncline.feed), (SELECT position FROM syncline.feed_start)) AS n`;
    const { fixed } = await engine().doctor({ fix: true });
    expect(fixed).toHaveLength(1);
    expect(await as('admin', 'SELECT last_value AS n FROM syncline.feed_position')).toEqual(
      await as('admin', highest),
    );
  });

  it('least privilege: the app role cannot migrate to a missing schema', async () => {
    const other = engine({ database: { url: database.urlOf('app'), schema: 'not_there' } });
    await expect(other.migrate()).rejects.toMatchObject({ code: 'DATABASE_REFUSED' });
  });

  it('least privilege: the app role can use tables and functions of later migrations without another grant', async () => {
    await as(
      'owner',
      `CREATE TABLE syncline.added (id bigserial PRIMARY KEY, text text);
       CREATE FUNCTION syncline.added_function() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
    );
    await as('app', `INSERT INTO syncline.added (text) VALUES ('x')`);
    expect(await as('app', 'SELECT text, syncline.added_function() AS n FROM syncline.added')).toEqual([
      { text: 'x', n: 1 },
    ]);
    await expect(as('app', 'DROP TABLE syncline.added')).rejects.toMatchObject({ code: '42501' });
    await as('owner', 'DROP TABLE syncline.added; DROP FUNCTION syncline.added_function()');
  });
});

describe('least privilege: other roles', () => {
  it('least privilege: the owner has no access to other schemas', async () => {
    await expect(as('owner', 'SELECT * FROM elsewhere.secrets')).rejects.toMatchObject({ code: '42501' });
    await expect(as('owner', 'CREATE SCHEMA mine')).rejects.toMatchObject({ code: '42501' });
  });

  it('least privilege: the reader reads only columns without secrets and cannot write', async () => {
    await database.runGuideBlock('reader');
    await as('reader', 'SELECT * FROM syncline.sync_jobs, syncline.signals, syncline.events LIMIT 1');
    await as('reader', 'SELECT id, status, metadata FROM syncline.connections');
    for (const statement of [
      'SELECT config FROM syncline.connections',
      'SELECT * FROM syncline.connections',
      ...['api_keys', 'sessions', 'credentials', 'webhooks', 'authorizations'].map(
        (t) => `SELECT 1 FROM syncline.${t}`,
      ),
      'DELETE FROM syncline.signals',
      'UPDATE syncline.tenants SET name = NULL',
    ])
      await expect(as('reader', statement), statement).rejects.toMatchObject({ code: '42501' });
  });

  it('least privilege: with existing tables the app role gets the same privileges, also on later tables', async () => {
    await migrateAs(existing.urlOf('admin'));
    await existing.runGuideBlock('present');
    expectRowsOnly(await privileges(existing));
    await existing.as('admin', 'CREATE TABLE syncline.added (id bigserial)');
    await existing.as('app', 'INSERT INTO syncline.added DEFAULT VALUES');
    const app = engine({ database: existing.urlOf('app') });
    await app.ready();
    expect(await app.tick()).toMatchObject({ scheduled: 0 });
  });
});
