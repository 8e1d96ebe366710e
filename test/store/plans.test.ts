import { beforeAll, describe, expect, it } from 'vitest';
import { aheadLimits } from '../../src/schedule/ahead.ts';
import { connectionsAhead, jobsAhead, tenantAhead } from '../../src/store/ahead.ts';
import { countOverdue, lockDue } from '../../src/store/connections.ts';
import type { Queryable } from '../../src/store/database.ts';
import { signalsOfBatches } from '../../src/store/feed.ts';
import { firstSignals } from '../../src/store/old-signals.ts';
import { tablesOf } from '../../src/store/scope.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { filledLookup } from '../support/filled-lookup.ts';
import { explain as explainOn, nodes, pagesRead } from '../support/plan.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const now = new Date('2025-01-01T12:00:00Z');
const total = sized(50_000, 20_000);
const due = 10;

beforeAll(async () => {
  await sql(
    `INSERT INTO connections (tenant_id, provider_slug, metadata)
     SELECT $1, 'github', jsonb_build_object('sync', jsonb_build_object('next_run_at',
       CASE WHEN n <= $2 THEN '2025-01-01T11:00:00Z' ELSE '2025-01-02T11:00:00Z' END))
     FROM generate_series(1, $3) AS n`,
    [tenant, due, total],
  );
  await sql('VACUUM ANALYZE connections');
});

const explain = (send: (db: Queryable) => Promise<unknown>) => explainOn(database.url, send);

describe('DB-4: cost is proportional to due connections', () => {
  it('DB-4: finding due connections reads only idx_connections_due', async () => {
    const plan = await explain((db) => lockDue(db, { now, horizon: now, limit: 1000 }));
    const scans = nodes(plan).filter((node) => node['Relation Name'] === 'connections');
    expect(scans.map((scan) => scan['Index Name'])).toEqual(['idx_connections_due']);
    expect(nodes(plan).map((node) => node['Node Type'])).not.toContain('Sort');
    expect(pagesRead(plan)).toBeLessThan(10 * due);
  });

  it('DB-4: counting overdue connections reads only overdue index entries', async () => {
    const plan = await explain((db) => countOverdue(db, now));
    expect(nodes(plan).find((node) => node['Relation Name'] === 'connections')?.['Index Name']).toBe(
      'idx_connections_due',
    );
    expect(pagesRead(plan)).toBeLessThan(10 * due);
  });

  it('DB-4: times too far ahead are found by bounded index scans', async () => {
    const limits = aheadLimits(
      {
        defaultIntervalSeconds: 86_400,
        maxOverriddenIntervalSeconds: 86_400,
        jitterPctMin: 0,
        jitterPctMax: 0.2,
        tickIntervalSeconds: 60,
      },
      [{ baseSeconds: 5, maxSeconds: 900, jitterFactor: 0.1 }],
    );
    const counted = await explain((db) => connectionsAhead(db, now, limits));
    const scans = nodes(counted).filter((node) => node['Relation Name'] === 'connections');
    expect(scans.map((scan) => [scan['Index Name'], scan['Actual Rows']])).toEqual([
      ['idx_connections_due', 10_001],
    ]);
    const jobs = nodes(await explain((db) => jobsAhead(db, now, limits)));
    const jobScans = jobs.filter((node) => node['Relation Name'] === 'sync_jobs');
    expect(new Set(jobScans.map((scan) => scan['Index Name']))).toEqual(
      new Set(['idx_sync_jobs_ready', 'idx_sync_jobs_retry']),
    );
    const other = await explain((db) => {
      const tables = tablesOf(db.schema, '00000000-0000-4000-8000-000000000002');
      return tenantAhead({ ...db, tables, lookup: filledLookup(tables) }, now, limits);
    });
    expect(pagesRead(other)).toBeLessThan(20);
  });

  it('DB-4: outdated statistics do not change the plans', async () => {
    // The state after all connections were due and placed, until autovacuum runs.
    await sql('ALTER TABLE connections SET (autovacuum_enabled = false)');
    await sql(`UPDATE connections SET metadata = '{}'`);
    await sql('ANALYZE connections');
    await sql(
      `UPDATE connections SET metadata = patch_sync(metadata, '{"next_run_at": "2025-01-02T11:00:00Z"}')`,
    );
    for (const send of [
      (db: Queryable) => countOverdue(db, now),
      (db: Queryable) => lockDue(db, { now, horizon: now, limit: 1000 }),
    ]) {
      const scans = nodes(await explain(send)).filter((node) => node['Relation Name'] === 'connections');
      expect(scans.map((scan) => scan['Index Name'])).toEqual(['idx_connections_due']);
    }
    await sql('ALTER TABLE connections RESET (autovacuum_enabled)');
    await sql('VACUUM ANALYZE connections');
  });

  it('DB-4: signals of a batch can be found only by idx_signals_batch', async () => {
    // With empty-table statistics all indexes cost the same, so only one may match.
    await sql('DROP INDEX idx_signals_batch');
    const batches = [{ position: 1, batch: '00000000-0000-4000-8000-000000000001' }];
    const page = { within: undefined, filter: {}, limit: 10, payload: false };
    for (const send of [
      (db: Queryable) => firstSignals(db, batches, page),
      (db: Queryable) => signalsOfBatches(db, batches, page),
    ]) {
      const scans = nodes(await explain(send)).filter((node) => node['Relation Name'] === 'signals');
      expect(scans.map((scan) => scan['Node Type'])).toEqual(['Seq Scan']);
    }
  });

  it('DB-4: connections with a pending job add no cost to a tick', async () => {
    const engine = database.engine();
    const later = new Date('2025-01-03T00:00:00Z');
    expect((await engine.tick({ at: later })).scheduled).toBe(total);
    await engine.tick({ at: new Date('2025-01-05T00:00:00Z') });
    // FREEZE waits for pages that the checkpointer pins; otherwise vacuum skips them and leaves dead entries.
    await sql('VACUUM (FREEZE, ANALYZE) connections');
    const plan = await explain((db) =>
      lockDue(db, { now, horizon: new Date('2025-01-05T00:00:00Z'), limit: 1000 }),
    );
    expect(plan['Actual Rows']).toBe(0);
    expect(pagesRead(plan)).toBeLessThan(10);
  });

  it('DB-4: cursor writes are HOT updates', async () => {
    await sql('VACUUM FULL connections');
    const client = await database.session();
    await client.query('BEGIN; SET LOCAL search_path TO syncline');
    const ids = await client.query(`SELECT id FROM connections ORDER BY random() LIMIT 20`);
    for (const { id } of ids.rows) {
      await client.query(
        `UPDATE connections SET metadata = patch_sync(metadata, '{"cursor": {"page": 7}}'), updated_at = now() WHERE id = $1`,
        [id],
      );
    }
    const { rows } = await client.query(
      `SELECT pg_stat_get_xact_tuples_hot_updated('connections'::regclass)::int AS hot, pg_stat_get_xact_tuples_updated('connections'::regclass)::int AS updated`,
    );
    expect(rows[0].updated).toBe(20);
    expect(rows[0].hot).toBe(20);
  });
});
