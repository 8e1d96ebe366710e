import { beforeAll, describe, expect, it } from 'vitest';
import { lastListed, listConnections } from '../../src/store/connection-lists.ts';
import type { Queryable } from '../../src/store/database.ts';
import { tablesOf } from '../../src/store/scope.ts';
import { countConnections, failingGroups, overdueConnections } from '../../src/store/stats.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { filledLookup } from '../support/filled-lookup.ts';
import { explain, nodes, type Plan } from '../support/plan.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const total = sized(100_000, 12_000);
const small = '00000000-0000-4000-8000-000000000002';
const few = 40;
const middle = '00000000-0000-4000-a000-000000000000';

/** Ids of both tenants alternate over the whole range. */
async function load(): Promise<void> {
  await sql(`INSERT INTO tenants (id) VALUES ($1) ON CONFLICT DO NOTHING`, [small]);
  await sql(
    `INSERT INTO connections (id, tenant_id, provider_slug, external_id, status, metadata)
     SELECT md5(n::text)::uuid, CASE WHEN n % $3::int = 7 THEN $2::uuid ELSE $1 END, 'github',
       'account-' || lpad(n::text, 8, '0'), CASE n % 10 WHEN 0 THEN 'paused' ELSE 'active' END,
       '{"sync":{"next_run_at":"2125-01-01T00:00:00Z"}}'
     FROM generate_series(1, $4::int) n`,
    [tenant, small, total / few, total],
  );
}

const of = (db: Queryable, tenantId: string): Queryable => {
  const tables = tablesOf(db.schema, tenantId);
  return { ...db, tables, lookup: filledLookup(tables) };
};
const page = { after: undefined, limit: 101, scan: 10_000 };

/** Rows that scans returned or filtered out. */
const rowsRead = (plan: Plan) =>
  nodes(plan)
    .filter((node) => node['Relation Name']?.startsWith('connection'))
    .reduce(
      (sum, node) =>
        sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );

const reads: [string, number, (db: Queryable) => Promise<unknown>][] = [
  ['a page of a tenant', 2 * few, (db) => listConnections(of(db, small), {}, page)],
  [
    'a later page of a tenant',
    2 * few,
    (db) => listConnections(of(db, small), {}, { ...page, after: middle }),
  ],
  [
    'a later page of a large tenant',
    250,
    (db) => listConnections(of(db, tenant), {}, { ...page, after: middle }),
  ],
  ["an operator's page of a tenant", 2 * few, (db) => listConnections(db, { tenantId: small }, page)],
  [
    "an operator's later page of a large tenant",
    250,
    (db) => listConnections(db, { tenantId: tenant }, { ...page, after: middle }),
  ],
  ["an operator's page", 250, (db) => listConnections(db, {}, page)],
  ["an operator's later page", 250, (db) => listConnections(db, {}, { ...page, after: middle })],
  ['a search of an operator', 25, (db) => listConnections(db, { search: 'account-0000012' }, page)],
  ['a search of a tenant', 2 * few, (db) => listConnections(of(db, small), { search: 'account-0000' }, page)],
  [
    'paused connections of a tenant',
    2 * few,
    (db) => listConnections(of(db, small), { status: 'paused' }, page),
  ],
  ['the last row of a scan', 2 * few, (db) => lastListed(of(db, small), {}, { after: undefined, scan: 10 })],
  ['counts of a tenant', 2 * few, (db) => countConnections(of(db, small))],
  ['failing connections of a tenant', 2 * few, (db) => failingGroups(of(db, small))],
  ['overdue connections of a tenant', 2 * few, (db) => overdueConnections(of(db, small), new Date())],
];

describe('DB-4: lists read a bounded number of connections', () => {
  beforeAll(async () => {
    await load();
    await sql('VACUUM ANALYZE connections');
    await sql('VACUUM ANALYZE connection_lookup');
  });

  it.each(reads)('DB-4: %s reads at most %i rows among those of other tenants', async (_, limit, send) => {
    const plan = await explain(database.url, send);
    expect(rowsRead(plan)).toBeLessThanOrEqual(limit);
  });

  it('DB-4: an operator counts connections without the lookup', async () => {
    const plan = await explain(database.url, countConnections);
    expect(nodes(plan).map((node) => node['Relation Name'])).not.toContain('connection_lookup');
  });
});

describe('DB-4: with the statistics of empty tables', () => {
  beforeAll(async () => {
    await database.empty();
    for (const table of ['connections', 'connection_lookup']) {
      await sql(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
      await sql(`VACUUM ANALYZE ${table}`);
    }
    await load();
  });

  it.each(reads)('DB-4: %s reads at most %i rows among those of other tenants', async (_, limit, send) => {
    const plan = await explain(database.url, send);
    expect(rowsRead(plan)).toBeLessThanOrEqual(limit);
  });
});
