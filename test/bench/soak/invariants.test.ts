import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Checked, findViolations } from '../../../bench/soak/invariants.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const connection = 'aaaaaaaa-0000-4000-8000-000000000001';
const checked: Checked = {
  schema: 'syncline',
  minute: 1,
  part: [0, 1],
  plan: {
    connections: 1,
    perSecond: 1,
    load: 0.8,
    retentionMinutes: 30,
    warmUpMinutes: 0,
  },
};

/** Three syncs at an interval of 62 s, each with the next number. */
beforeAll(async () => {
  await database.sql(
    `INSERT INTO connections (id, tenant_id, provider_slug, metadata) VALUES ($1, $2, 'github', '{"sync": {"cursor": {"n": 3}}}')`,
    [connection, tenant],
  );
  await database.sql(
    `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, started_at, finished_at)
     SELECT $2, 'github', $1, 'incremental', 'succeeded', ended - interval '2 s', ended - interval '1 s', ended
     FROM generate_series(1, 3) n CROSS JOIN LATERAL (SELECT now() - (4 - n) * interval '62 s' AS ended) e`,
    [connection, tenant],
  );
  await database.sql(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload)
     SELECT $2, 'github', $1, 'item.added', now(), now() - (4 - n) * interval '62 s', jsonb_build_object('n', n)
     FROM generate_series(1, 3) n`,
    [connection, tenant],
  );
  const counts = Array.from({ length: 12 }, (_, i) => `lag_${i}, age_${i}`).join(', ');
  await database.sql(
    `INSERT INTO rollups (tenant_id, minute, provider_slug, slot, succeeded, failed, retried, signals, ${counts})
     SELECT id, date_trunc('minute', now()), 'github', 0, 3, 0, 0, 3${', 0'.repeat(24)}
     FROM unnest($1::uuid[]) id`,
    [[tenant, '00000000-0000-0000-0000-000000000000']],
  );
});

/** The violated invariants after a change, which is rolled back. */
async function violatedAfter(
  change: string,
  { isEnd = false, ...others }: Partial<Checked> & { isEnd?: boolean } = {},
): Promise<string[]> {
  const client: pg.Client = await database.session();
  await client.query(`BEGIN; SET LOCAL search_path = syncline; ${change}`);
  const found = await findViolations(client, { ...checked, ...others }, { isEnd });
  await client.query('ROLLBACK');
  return found.map(({ invariant }) => invariant);
}

const last = `(SELECT id FROM sync_jobs ORDER BY finished_at DESC LIMIT 1)`;
const numbered = 'The signals of a connection have consecutive numbers up to its cursor';
const counted = 'The statistics count one signal and one success per number, and no failure';

describe('soak invariants', () => {
  it('soak invariants: hold for consistent tables', async () => {
    expect(await violatedAfter('', { isEnd: true })).toEqual([]);
  });

  it.each([
    ['a missing signal', `DELETE FROM signals WHERE payload = '{"n": 2}'`, numbered],
    ['a missing newest signal', `DELETE FROM signals WHERE payload = '{"n": 3}'`, numbered],
    ['missing signals of a whole connection', 'DELETE FROM signals', numbered],
    [
      'a duplicate signal',
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload)
       SELECT tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload FROM signals WHERE payload = '{"n": 2}'`,
      numbered,
    ],
    [
      'a missing signal next to a duplicate',
      `UPDATE signals SET payload = '{"n": 1}' WHERE payload = '{"n": 2}'`,
      numbered,
    ],
    [
      'a run before its interval is over',
      `UPDATE sync_jobs SET scheduled_at = scheduled_at - interval '1 s' WHERE id = ${last}`,
      'No connection runs again before its interval is over',
    ],
    [
      'overlapping runs',
      `UPDATE sync_jobs SET started_at = started_at - interval '62 s' WHERE id = ${last}`,
      'No two runs of a connection overlap',
    ],
    [
      'two running jobs',
      `DROP INDEX idx_sync_jobs_running; INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status)
       SELECT '${tenant}', 'github', '${connection}', type, 'running' FROM unnest('{full,incremental}'::text[]) type`,
      'A connection runs one job at a time',
    ],
    [
      'a connection that stopped running',
      `UPDATE connections SET last_incremental_ended_at = now() - interval '133 s'`,
      'No connection is late by more than its interval',
    ],
    [
      'a connection that waits without a job',
      'UPDATE connections SET waits_for_job = true',
      'A connection that waits for a job has one',
    ],
    ['a sync counted twice', 'UPDATE rollups SET succeeded = 4', counted],
    ['a failed job', 'UPDATE rollups SET failed = 1', counted],
  ])('soak invariants: detect %s', async (_, change, invariant) => {
    expect(await violatedAfter(change)).toEqual([invariant]);
  });

  it('soak invariants: detect rows deleted before their retention is over', async () => {
    expect(await violatedAfter('', { minute: 32 })).toEqual([
      'No row is deleted before its retention is over',
    ]);
  });

  it.each([
    [
      'a job left running',
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status)
       VALUES ('${tenant}', 'github', '${connection}', 'incremental', 'running')`,
      'No job is left running',
    ],
    [
      'a registered process',
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES (gen_random_uuid(), 'here', 1, 1, '{}', now(), now())`,
      'No process is left registered',
    ],
    [
      'a paused connection',
      `UPDATE connections SET status = 'paused'`,
      'Each connection is active and comes due',
    ],
    [
      'a wrong count of a tenant',
      `UPDATE rollups SET signals = 2 WHERE tenant_id = '${tenant}'`,
      'The counts of the tenants add up to the total',
    ],
  ])('soak invariants: detect at the end %s', async (_, change, invariant) => {
    expect(await violatedAfter(change, { isEnd: true })).toEqual([invariant]);
  });

  it('soak invariants: check each connection in exactly one part', async () => {
    const missing = `DELETE FROM signals WHERE payload = '{"n": 2}'`;
    const found = [];
    for (const index of [0, 1, 2]) found.push(await violatedAfter(missing, { part: [index, 3] }));
    expect(found.flat()).toEqual([numbered]);
  });
});
