import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { endBackoffs, lockReady, nextDueAt, otherProvidersWaiting } from '../../src/store/claims.ts';
import type { Queryable } from '../../src/store/database.ts';
import { findForeign } from '../../src/store/job-owners.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { explain, nodes, pagesRead } from '../support/plan.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const now = new Date('2025-01-01T12:00:00Z');
const waiting = sized(20_000, 12_000);
const due = 10;

/** Later jobs of two priorities, backoffs, jobs of another provider, blocked and due jobs. */
beforeAll(async () => {
  await sql(`INSERT INTO providers (slug) VALUES ('slack')`);
  const queue = (count: number, columns: string, values: string, provider = 'github') =>
    sql(
      `WITH c AS (INSERT INTO connections (tenant_id, provider_slug) SELECT $1, $2 FROM generate_series(1, $3) RETURNING *)
       INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, ${columns})
       SELECT tenant_id, provider_slug, id, ${values} FROM c`,
      [tenant, provider, count],
    );
  await queue(waiting / 2, 'scheduled_at', `'incremental', '2025-01-02'`);
  await queue(waiting / 2, 'scheduled_at, priority', `'incremental', '2025-01-02', 10`);
  await queue(waiting, 'scheduled_at, retry_after', `'incremental', '2024-12-01', '2025-01-02'`);
  await queue(waiting, 'scheduled_at', `'incremental', '2024-12-01'`, 'slack');
  await queue(waiting, 'scheduled_at, status', `'full', '2024-12-01', 'running'`);
  await sql(
    `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
     SELECT tenant_id, provider_slug, connection_id, 'incremental', '2024-12-01' FROM sync_jobs WHERE status = 'running'`,
  );
  await queue(due, 'scheduled_at', `'incremental', '2025-01-01'`);
  await sql('VACUUM ANALYZE sync_jobs, connections');
});

describe('DB-4: claim cost is proportional to claimable jobs', () => {
  const providers = ['github'];
  const statements: [string, (db: Queryable) => Promise<unknown>, number][] = [
    ['claiming', (db) => lockReady(db, { now, providers, limit: 100 }), 20 * due],
    ['ending backoffs', (db) => endBackoffs(db, { now, providers, limit: 100 }), 20],
    ['finding the next due time', (db) => nextDueAt(db, providers), 60],
    ['finding providers without a connector', (db) => otherProvidersWaiting(db, providers), 60],
  ];
  it.each(statements)(
    'DB-4: %s skips jobs that are later, in backoff, blocked or of other providers',
    async (_name, send, maxPages) => {
      const plan = await explain(database.url, send);
      const scans = nodes(plan).filter((node) => node['Relation Name'] === 'sync_jobs');
      expect(scans.map((scan) => scan['Node Type'])).not.toContain('Seq Scan');
      expect(pagesRead(plan)).toBeLessThan(maxPages);
    },
  );

  it('DB-4: finding foreign jobs reads at most 10,000 pending jobs, by connection', async () => {
    const plan = await explain(database.url, (db) => findForeign(db, { served: providers, from: undefined }));
    const scans = nodes(plan).filter((node) => node['Relation Name'] === 'sync_jobs');
    expect(scans.map((scan) => [scan['Index Name'], scan['Actual Rows']])).toEqual([
      ['idx_sync_jobs_connection_type_status', 10_000],
    ]);
    expect(nodes(plan).map((node) => node['Node Type'])).not.toContain('Sort');
  });

  it('DB-4: blocked jobs are in none of the claim indexes', async () => {
    expect(await sql(`SELECT FROM sync_jobs WHERE status = 'queued' AND blocked`)).toHaveLength(waiting);
  });
});

describe('DB-4: claims while an old snapshot is open', () => {
  it('DB-4: scans dead index entries once, and none when starting at a known position', async () => {
    const providers = ['old'];
    await sql(`INSERT INTO providers (slug) VALUES ('old')`);
    const place = (count: number, at: string) =>
      sql(
        `WITH c AS (INSERT INTO connections (tenant_id, provider_slug) SELECT $1, 'old' FROM generate_series(1, $2) RETURNING *)
         INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
         SELECT tenant_id, provider_slug, id, 'incremental', $3 FROM c`,
        [tenant, count, at],
      );
    await place(waiting, '2024-12-01');
    const reader = new pg.Client({ connectionString: database.url });
    await reader.connect();
    try {
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await reader.query('SELECT 1');
      await sql(`UPDATE sync_jobs SET status = 'succeeded' WHERE provider_slug = 'old'`);
      await place(due, '2025-01-01');
      const request = { now, providers, limit: 100 };
      const fullScan = pagesRead(await explain(database.url, (db) => lockReady(db, request)));
      const lanes = [{ slug: 'old', priority: 0, from: '2025-01-01' }];
      const fromPosition = pagesRead(
        await explain(database.url, (db) => lockReady(db, { ...request, lanes })),
      );
      expect(fromPosition).toBeLessThan(20 * due);
      const skipScan = pagesRead(await explain(database.url, (db) => nextDueAt(db, providers)));
      expect(skipScan).toBeGreaterThan(20 * due);
      expect(fullScan - fromPosition).toBeLessThan(1.2 * skipScan);
    } finally {
      await reader.end();
    }
  });
});
