import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { pinnedPlans } from '../../src/store/plans.ts';
import { tablesOf } from '../../src/store/scope.ts';
import type { Statement } from '../../src/store/sql.ts';
import { useDatabase } from '../support/database.ts';
import { fillRealistically } from '../support/realistic-data.ts';
import { type Example, loadStatements, type Names, plansOf } from '../support/statement-plans.ts';

const database = useDatabase();
const { sql } = database;
let statements: readonly Statement<object>[];
let example: Example & Record<'running' | 'key' | 'credential', string>;

beforeAll(async () => {
  statements = await loadStatements();
  await fillRealistically(sql);
  const [row] = await sql<typeof example>(
    `SELECT c.tenant_id AS tenant, c.id AS connection, c.provider_slug AS provider, external_id AS "externalId",
       j.id AS running, (SELECT parent_id FROM api_keys WHERE parent_id IS NOT NULL LIMIT 1) AS key,
       (SELECT id FROM credentials WHERE id NOT IN (SELECT credential_id FROM connections WHERE credential_id IS NOT NULL)
        LIMIT 1) AS credential
     FROM sync_jobs j JOIN connections c ON c.id = connection_id WHERE j.status = 'running' LIMIT 1`,
  );
  example = row as typeof example;
});

interface Index {
  name: string;
  isPartial: boolean;
}

/** A unique index is a rule; any other only makes a reader faster. */
const indexes = () =>
  sql<Index>(
    `SELECT relname AS name, indpred IS NOT NULL AS "isPartial" FROM pg_index JOIN pg_class ON oid = indexrelid
     WHERE relnamespace = 'syncline'::regnamespace AND NOT indisunique ORDER BY 1`,
  );

async function session(): Promise<pg.Client> {
  const client = await database.session();
  for (const [name, value] of Object.entries({ ...pinnedPlans, search_path: 'syncline' }))
    await client.query(`SET ${name} = ${value}`);
  return client;
}

/** With sequential scans off, the planner may read an index from end to end: only a condition or a predicate counts. */
async function readByStatements(names: Names, list: readonly Index[]): Promise<Set<string>> {
  const client = await session();
  const partial = new Set(list.filter(({ isPartial }) => isPartial).map(({ name }) => name));
  const used = new Set<string>();
  for (const statement of statements)
    for (const { 'Index Name': name, 'Index Cond': condition } of await plansOf(
      client,
      statement,
      names,
      example,
    ))
      if (name !== undefined && (condition !== undefined || partial.has(name))) used.add(name);
  return used;
}

/** Each finds its rows by primary key: the other scans are those of triggers and foreign keys. */
const writes = (): [text: string, id: string][] => [
  [`UPDATE connections SET status = 'paused' WHERE id = $1`, example.connection],
  [`UPDATE connections SET status = 'active' WHERE id = $1`, example.connection],
  [`UPDATE sync_jobs SET status = 'succeeded', finished_at = now() WHERE id = $1`, example.running],
  ['DELETE FROM connections WHERE id = $1', example.connection],
  ['DELETE FROM api_keys WHERE id = $1', example.key],
  ['DELETE FROM credentials WHERE id = $1', example.credential],
];

interface Scans {
  name: string;
  isIndex: boolean;
  scans: number;
}

async function scansOfTriggers(): Promise<Scans[]> {
  const client = await session();
  await client.query('BEGIN');
  for (const [text, id] of writes()) await client.query(text, [id]);
  const { rows } = await client.query<Scans>(
    `SELECT relname AS name, relkind = 'i' AS "isIndex", pg_stat_get_xact_numscans(oid)::int AS scans FROM pg_class
     WHERE relnamespace = 'syncline'::regnamespace AND relkind IN ('i', 'r') ORDER BY 1`,
  );
  await client.query('ROLLBACK');
  return rows.filter(({ scans }) => scans > 0);
}

async function unused(): Promise<string[]> {
  const list = await indexes();
  const schema = '"syncline"';
  const used = [
    await readByStatements({ schema, tables: tablesOf(schema) }, list),
    await readByStatements({ schema, tables: tablesOf(schema, example.tenant) }, list),
    new Set((await scansOfTriggers()).map(({ name }) => name)),
  ];
  return list.map(({ name }) => name).filter((name) => !used.some((names) => names.has(name)));
}

describe('DB-4: indexes', () => {
  it('DB-4: every index is read by a statement, a trigger or a foreign key; one without a reader is found', async () => {
    expect((await indexes()).length).toBeGreaterThan(30);
    await sql('CREATE INDEX unread ON connections (created_at)');
    await sql('CREATE INDEX unread_partial ON sync_jobs (started_at) WHERE attempts > 3');
    expect(await unused()).toEqual(['unread', 'unread_partial']);
    await sql('DROP INDEX unread, unread_partial');
  });

  it('DB-4: triggers and foreign keys of a write find their rows by index', async () => {
    const scans = await scansOfTriggers();
    expect(scans.filter(({ isIndex }) => !isIndex)).toEqual([]);
    expect(scans.length).toBeGreaterThan(10);
  });
});
