import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { loadConfig } from '../../src/config/load.ts';
import type { Syncline, SynclineOptions } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { openDatabase, type Queryable } from '../../src/store/database.ts';
import { openSession } from '../../src/store/session.ts';
import { newKey } from '../credentials/handles.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { recordingLogger } from '../support/log.ts';
import { sampled } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const role = `settings_${randomUUID().replaceAll('-', '')}`;
const key = newKey();

/** Functions and operators that shadow those of pg_catalog if search_path finds them first. */
const shadows = `CREATE SCHEMA shadows;
  CREATE FUNCTION shadows.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'shadowed'; END $$;
  CREATE FUNCTION shadows.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
  CREATE FUNCTION shadows.count(anyelement) RETURNS bigint LANGUAGE sql AS $$ SELECT 0::bigint $$;
  CREATE FUNCTION shadows.no(uuid, uuid) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
  CREATE FUNCTION shadows.not_text(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
  CREATE FUNCTION shadows.no(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
  CREATE OPERATOR shadows.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = shadows.no);
  CREATE OPERATOR shadows.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadows.not_text);
  CREATE OPERATOR shadows.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = shadows.no);
  CREATE TABLE shadows.connections (id int);`;

beforeAll(async () => {
  await sql(shadows);
  await sql(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'settings'`);
});
afterAll(() => sql(`DROP ROLE ${role}`));

type Settings = [name: string, settings: Record<string, string>];

/** Each of these broke an engine that relied on the default; they run at every size. */
const isolationAndDates: Settings[] = [
  ['repeatable read', { default_transaction_isolation: `'repeatable read'` }],
  ['serializable', { default_transaction_isolation: `'serializable'` }],
  ['German dates', { DateStyle: `'German'`, IntervalStyle: `'sql_standard'` }],
  ['SQL dates', { DateStyle: `'SQL, DMY'`, IntervalStyle: `'iso_8601'` }],
];

const otherSettings: Settings[] = [
  ['the defaults', {}],
  ['read only and deferrable', { default_transaction_read_only: 'on', default_transaction_deferrable: 'on' }],
  ['Postgres dates', { DateStyle: `'Postgres, MDY'`, IntervalStyle: `'postgres_verbose'` }],
  ['a time zone with odd offsets', { TimeZone: `'Africa/Monrovia'` }],
  ['another time zone', { TimeZone: `'Asia/Kathmandu'` }],
  ['a search path with shadowing functions and operators', { search_path: 'shadows, pg_catalog, syncline' }],
  [
    'settings that change how text is parsed',
    {
      standard_conforming_strings: 'off',
      escape_string_warning: 'off',
      array_nulls: 'off',
      transform_null_equals: 'on',
      quote_all_identifiers: 'on',
      client_encoding: `'LATIN1'`,
    },
  ],
  ['settings that change how values are printed', { bytea_output: `'escape'`, extra_float_digits: '-15' }],
  ['exit_on_error', { exit_on_error: 'on' }],
  [
    'short timeouts',
    {
      lock_timeout: `'1ms'`,
      idle_session_timeout: `'300ms'`,
      idle_in_transaction_session_timeout: `'300ms'`,
    },
  ],
  [
    'planner settings',
    {
      plan_cache_mode: `'force_generic_plan'`,
      jit: 'on',
      jit_above_cost: '0',
      enable_indexscan: 'off',
      enable_nestloop: 'off',
    },
  ],
  ['row_security and asynchronous commits', { row_security: 'off', synchronous_commit: 'off' }],
  [
    'the custom settings of the engine',
    { 'syncline.triggers': 'off', 'syncline.batch': `'${randomUUID()}'` },
  ],
];

async function urlWithSettings(settings: Record<string, string>): Promise<string> {
  await sql(`ALTER ROLE ${role} RESET ALL`);
  for (const [name, value] of Object.entries(settings))
    await sql(`ALTER ROLE ${role} SET ${name} TO ${value}`);
  const url = new URL(database.url);
  Object.assign(url, { username: role, password: 'settings' });
  return url.href;
}

/** Returns two pages per connection; each signal contains the credential. */
const pages = connector(async ({ cursor, connection, credentials }) => {
  const credential = await credentials.get();
  const page = cursor === undefined ? 1 : 2;
  return {
    signals: [signal({ page, credential, name: 'Ünï “ḡ” \\ backslash' }, `${connection.id} ${page}`)],
    nextCursor: page,
    hasMore: page === 1,
  };
});

const connections = 12;
const tried = [...isolationAndDates, ...sampled(otherSettings, 5)];

describe('settings of a role', () => {
  it.each(tried)('DB-5: a complete sync works as a role with %s', async (_, settings) => {
    await database.empty();
    await sql('TRUNCATE rollups');
    const url = await urlWithSettings(settings);
    const { log, lines } = recordingLogger('warn');
    const options: SynclineOptions = {
      database: { url, poolSize: 4 },
      credentials: { keys: [key] },
      connectors: [pages],
      retention: { endedJobsDays: 1, signalsDays: 1 },
      logger: log,
    };
    const engines = [database.engine(options), database.engine(options)] as const;
    const [engineA, engineB] = engines;
    await engineA.ready();
    const ids = await populate(engineA);

    // Ticks, claims, commits and triggers run in parallel.
    const started = Date.now();
    const [first, second] = await Promise.all([engineA.tick(), engineB.tick()]);
    expect(first.scheduled + second.scheduled).toBe(connections);
    const work = Promise.all(engines.map((engine) => engine.drain()));
    for (let round = 0; round < 3; round++)
      await Promise.all(ids.map((id, i) => (i % 2 ? engineA : engineB).connections.trigger(id)));
    await work;
    await engineA.drain();

    const connection = await engineA.connections.get(ids[0] as string);
    expect(connection.lastEndedAt?.getTime()).toBeGreaterThanOrEqual(started - 60_000);
    expect(connection.sync.nextRunAt?.getTime()).toBeGreaterThan(started);
    expect(await sql('SELECT DISTINCT attempts, status, blocked FROM sync_jobs')).toEqual([
      { attempts: 0, status: 'succeeded', blocked: false },
    ]);
    await control(engineA, engineB, ids[0] as string);

    const items = await readFeed(engineA);
    expect(items.map(({ payload }) => payload)).toHaveLength(2 * connections);
    expect(new Set(items.map(({ dedupeKey }) => dedupeKey)).size).toBe(2 * connections);
    expect(items[0]?.payload).toMatchObject({
      name: 'Ünï “ḡ” \\ backslash',
      credential: { type: 'custom', fields: { token: 'tökén' } },
    });
    expect(items[0]?.occurredAt).toEqual(new Date('2025-01-01T10:00:00Z'));
    const { checks } = await engineA.doctor();
    expect(checks.filter(({ group, outcome }) => group === 'schema' && outcome !== 'ok')).toEqual([]);
    expect(lines.map(({ msg }) => msg)).toEqual([]);

    await sql(`UPDATE sync_jobs SET finished_at = '2024-12-01'`);
    await runJanitor(database, options);
    expect(await sql(`SELECT FROM sync_jobs WHERE status <> 'queued'`)).toEqual([]);
  });

  async function readFeed({ signals }: Syncline) {
    const all: Awaited<ReturnType<typeof signals.read>>['items'] = [];
    for (let after = 'beginning'; ; ) {
      const { items, nextCursor } = await signals.read({ after, limit: 100 });
      all.push(...items);
      if (nextCursor === after) return all;
      after = nextCursor;
    }
  }

  async function populate(engine: Syncline): Promise<string[]> {
    const secret = { type: 'custom' as const, fields: { token: 'tökén' } };
    const { id: credentialId } = await engine.credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret,
    });
    const made: string[] = [];
    for (let i = 0; i < connections; i++)
      made.push((await engine.connections.create({ tenantId: tenant, provider: 'github', credentialId })).id);
    return made;
  }

  async function control(engineA: Syncline, engineB: Syncline, id: string): Promise<void> {
    await engineA.connections.pause(id);
    await expect(engineB.connections.trigger(id)).rejects.toMatchObject({ code: 'CONFLICT' });
    await engineA.connections.resume(id);
    const { jobId } = await engineB.connections.trigger(id);
    expect(await engineA.jobs.cancel(jobId)).toMatchObject({ status: 'cancelled' });
    await engineA.connections.rewind(id, { cursor: null });
    await engineA.connections.trigger(id);
    await engineB.drain();
    expect(await engineA.jobs.list({ connectionId: id, status: 'queued' })).toMatchObject({ items: [] });
    expect(await engineA.connections.explain(id)).toMatchObject({ state: expect.any(String) });
  }
});

describe('DB-5: sessions and transactions', () => {
  it('DB-5: state the isolation level and the time zone, whatever the role sets', async () => {
    const url = await urlWithSettings({
      default_transaction_isolation: `'serializable'`,
      TimeZone: `'Asia/Kathmandu'`,
    });
    const { config } = loadConfig({ options: { database: url } });
    const db = openDatabase(config.database, {
      ports: systemPorts,
      onConnectionLost: () => {},
      onSkew: () => {},
    });
    const read = ({ query }: Pick<Queryable, 'query'>) =>
      query(`SELECT current_setting('transaction_isolation') AS level, current_setting('TimeZone') AS zone`);
    try {
      const expected = [{ level: 'read committed', zone: 'UTC' }];
      expect(await read(db)).toEqual(expected);
      expect(await db.transaction(read)).toEqual(expected);
    } finally {
      await db.close();
    }
  });
});

describe('DB-5: timeouts of the role', () => {
  it('DB-5: a statement_timeout of 1 ms applies to no statement', async () => {
    await database.empty();
    const url = await urlWithSettings({ statement_timeout: `'1ms'` });
    const engine = database.engine({ database: { url }, connectors: [pages], credentials: { keys: [key] } });
    await engine.migrate();
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    await engine.start();
    await engine.connections.trigger(id);
    await engine.stop();
    expect((await database.engine({ database: { url } }).doctor()).outcome).not.toBe('unknown');
  });
});

describe('DB-5: opening a session', () => {
  it('DB-5: a session opens after the timeout of the role cancelled its first statement', async () => {
    const client = new pg.Client({ connectionString: await urlWithSettings({ statement_timeout: `'1ms'` }) });
    await client.connect();
    try {
      const query = client.query.bind(client) as (config: pg.QueryConfig) => Promise<unknown>;
      let cancelled = 0;
      const slow = vi
        .spyOn(client, 'query')
        .mockImplementationOnce((({ text }: pg.QueryConfig) =>
          query({ text: `SELECT pg_sleep(1); ${text}` }).finally(() => cancelled++)) as never);
      expect(await openSession(client, {}, 10_000)).toBeGreaterThan(0);
      expect({ cancelled, statements: slow.mock.calls.length }).toEqual({ cancelled: 1, statements: 3 });
    } finally {
      await client.end();
    }
  });
});

describe('DB-5: unsuitable databases', () => {
  const name = `latin_${randomUUID().replaceAll('-', '')}`;
  afterAll(() => sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));

  it('DB-5: migrate, ready and start reject an encoding other than UTF-8 and change nothing', async () => {
    await sql(`CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`);
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    const refusal = {
      code: 'DATABASE_UNSUITABLE',
      message: 'The database encoding is LATIN1; Syncline requires UTF8.',
    };
    const engine = database.engine({ database: url.href });
    await expect(engine.migrate()).rejects.toMatchObject(refusal);
    await expect(engine.ready()).rejects.toMatchObject(refusal);
    await expect(engine.start()).rejects.toMatchObject(refusal);
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const { rows } = await client.query(`SELECT nspname FROM pg_namespace WHERE nspname = 'syncline'`);
    await client.end();
    expect(rows).toEqual([]);
  });

  it('DB-5: ready rejects a role with disabled triggers', async () => {
    const url = await urlWithSettings({ session_replication_role: 'replica' });
    await expect(database.engine({ database: url }).ready()).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringContaining('session_replication_role is replica'),
    });
  });
});
