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
    intervalSeconds: 60,
    perSecond: 1,
    load: 0.8,
    retentionMinutes: 30,
    warmUpMinutes: 0,
  },
};

/** Three syncs, a minute and two seconds apart, each with the next item. */
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

/** The names of what is found after something was broken, which is then undone. */
async function foundAfter(
  breakIt: string,
  { isEnd = false, ...others }: Partial<Checked> & { isEnd?: boolean } = {},
): Promise<string[]> {
  const client: pg.Client = await database.session();
  await client.query(`BEGIN; SET LOCAL search_path = syncline; ${breakIt}`);
  const found = await findViolations(client, { ...checked, ...others }, { isEnd });
  await client.query('ROLLBACK');
  return found.map(({ invariant }) => invariant);
}

const last = `(SELECT id FROM sync_jobs ORDER BY finished_at DESC LIMIT 1)`;
const numbered = 'the signals of a connection are numbered up to its cursor, none missing, none doubled';
const counted =
  'as many signals are counted as there are numbers, one of each success, and no job has failed';

describe('what the soak looks for', () => {
  it('finds nothing where everything is as promised', async () => {
    expect(await foundAfter('', { isEnd: true })).toEqual([]);
  });

  it.each([
    ['a signal that is missing', `DELETE FROM signals WHERE payload = '{"n": 2}'`, numbered],
    ['the newest signal missing', `DELETE FROM signals WHERE payload = '{"n": 3}'`, numbered],
    ['all signals missing', 'DELETE FROM signals', numbered],
    [
      'a signal stored twice',
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload)
       SELECT tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload FROM signals WHERE payload = '{"n": 2}'`,
      numbered,
    ],
    [
      'one that is missing behind one that is doubled',
      `UPDATE signals SET payload = '{"n": 1}' WHERE payload = '{"n": 2}'`,
      numbered,
    ],
    [
      'a run before its time',
      `UPDATE sync_jobs SET scheduled_at = scheduled_at - interval '1 s' WHERE id = ${last}`,
      'no connection runs again before its interval is over',
    ],
    [
      'runs that overlap',
      `UPDATE sync_jobs SET started_at = started_at - interval '62 s' WHERE id = ${last}`,
      'no two runs of a connection overlap',
    ],
    [
      'two jobs that run',
      `DROP INDEX idx_sync_jobs_running; INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status)
       SELECT '${tenant}', 'github', '${connection}', type, 'running' FROM unnest('{full,incremental}'::text[]) type`,
      'a connection runs one job at a time',
    ],
    [
      'a connection that was forgotten',
      `UPDATE connections SET last_incremental_ended_at = now() - interval '133 s'`,
      'no connection is behind by more than its interval',
    ],
    [
      'a connection that waits for nothing',
      'UPDATE connections SET waits_for_job = true',
      'a connection that waits for a job has one',
    ],
    ['a sync that was counted twice', 'UPDATE rollups SET succeeded = 4', counted],
    ['a job that failed', 'UPDATE rollups SET failed = 1', counted],
  ])('finds %s', async (_, breakIt, invariant) => {
    expect(await foundAfter(breakIt)).toEqual([invariant]);
  });

  it('finds what was deleted before its time', async () => {
    expect(await foundAfter('', { minute: 32 })).toEqual(['nothing is deleted before its time']);
  });

  it.each([
    [
      'a job that is left running',
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status)
       VALUES ('${tenant}', 'github', '${connection}', 'incremental', 'running')`,
      'nothing is left running',
    ],
    [
      'a process that is still there',
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES (gen_random_uuid(), 'here', 1, 1, '{}', now(), now())`,
      'every process has said goodbye',
    ],
    [
      'a connection that will not run again',
      `UPDATE connections SET status = 'paused'`,
      'every connection is active and comes due',
    ],
    [
      'a tenant that was counted differently',
      `UPDATE rollups SET signals = 2 WHERE tenant_id = '${tenant}'`,
      'the counts of all tenants add up to that of everybody',
    ],
  ])('finds at the end %s', async (_, breakIt, invariant) => {
    expect(await foundAfter(breakIt, { isEnd: true })).toEqual([invariant]);
  });

  it('looks at every connection once in as many parts as it is told', async () => {
    const missing = `DELETE FROM signals WHERE payload = '{"n": 2}'`;
    const found = [];
    for (const index of [0, 1, 2]) found.push(await foundAfter(missing, { part: [index, 3] }));
    expect(found.flat()).toEqual([numbered]);
  });
});
