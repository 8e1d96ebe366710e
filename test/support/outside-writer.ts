import type pg from 'pg';
import type { Random } from '../simulation/random.ts';

/**
 * Another service that writes what docs/reference/tables.md allows, and only documented columns.
 *
 * Connections of `ledger` get no `full` or `webhook` jobs and keep their cursor, so each item of the provider is
 * fetched under one cursor: a result that is stored twice appears as a second signal.
 */
export interface OutsideWriter {
  /** Transactions until `steps` is reached. */
  run(steps: number): Promise<void>;
  /** The items of the signals that it committed, by connection. */
  readonly items: ReadonlyMap<string, readonly string[]>;
  readonly errors: Map<string, number>;
}

/** Of a documented rule, or of a conflict that a client retries: unique, foreign key, deadlock, lock timeout. */
const expectedCodes = new Set(['23505', '23503', '40P01', '55P03']);

type Write = [text: string, ...values: unknown[]];

interface Inserted {
  connection_id: string;
  item: string;
}

export function createOutsideWriter(client: pg.Client, random: Random): OutsideWriter {
  const items = new Map<string, string[]>();
  const errors = new Map<string, number>();

  async function send(writes: readonly Write[], inserted: Inserted[]): Promise<void> {
    for (const [text, ...values] of writes)
      inserted.push(...(await client.query<Inserted>(text, values)).rows);
  }

  async function transact(writes: readonly Write[]): Promise<void> {
    const inserted: Inserted[] = [];
    const isSingle = writes.length === 1 && random.chance(0.7);
    const isUndone = random.chance(0.2);
    try {
      if (!isSingle) await client.query('BEGIN');
      await send(writes, inserted);
      if (!isSingle) await client.query(isUndone ? 'ROLLBACK' : 'COMMIT');
      if (!isSingle && isUndone) return;
      for (const { connection_id, item } of inserted)
        items.set(connection_id, [...(items.get(connection_id) ?? []), item]);
    } catch (error) {
      if (!isSingle) await client.query('ROLLBACK');
      const { code = '' } = error as pg.DatabaseError;
      if (!expectedCodes.has(code)) throw error;
      errors.set(code, (errors.get(code) ?? 0) + 1);
    }
  }

  return {
    items,
    errors,
    run: async (steps) => {
      for (let i = 0; i < steps; i++) {
        const count = random.pick([1, 1, 1, 2, 3, 5]);
        await transact(Array.from({ length: count }, () => random.pick(operations)(random)));
      }
    },
  };
}

/** Rows in an order that the seed determines. */
const some = (table: string, where: string, random: Random) =>
  `(SELECT id FROM ${table} WHERE ${where}
    ORDER BY md5(id::text || '${random.integer(0, 1e9)}') LIMIT ${random.pick([1, 1, 2, 5])})`;

const isoTime = (seconds: number) =>
  `to_char((now() + ${seconds} * interval '1 second') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const invalidMetadata = [
  null,
  42,
  'text',
  [],
  { sync: 42 },
  { sync: { next_run_at: 'soon', interval_seconds: '300' } },
  { sync: { next_run_at: '2025-02-30T00:00:00Z', last_jitter_seconds: -1 }, own: true },
  { sync: { interval_seconds: 1, first_activated_at: 'never', theirs: { a: 1 } } },
];

const schedules = [
  null,
  { cron: '*/5 * * * *' },
  { times_of_day: ['06:00'], time_zone: 'Europe/Berlin' },
  { cron: 'every day' },
  7,
];

const ended = `'succeeded', 'failed', 'cancelled', 'completed'`;
const typeFor = (provider: string, type: string) =>
  `CASE ${provider} WHEN 'ledger' THEN 'incremental' ELSE '${type}' END`;
const randomType = (random: Random) => random.pick(['incremental', 'incremental', 'full', 'webhook']);

const insertJobs = (status: string, random: Random, which: string): Write => [
  `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, priority, started_at, finished_at)
   SELECT tenant_id, provider_slug, id, ${typeFor('provider_slug', randomType(random))}, $1, $2,
     CASE $1 WHEN 'queued' THEN NULL ELSE now() END, CASE WHEN $1 IN (${ended}) THEN now() END
   FROM connections WHERE id IN ${some('connections', which, random)} ON CONFLICT DO NOTHING`,
  status,
  random.integer(-5, 20),
];

const endJobs = (status: string, from: string, random: Random): Write => [
  `UPDATE sync_jobs SET status = $1, finished_at = now(), updated_at = now()
   WHERE id IN ${some('sync_jobs', `status IN (${from})`, random)}`,
  status,
];

const patch = (sync: string, random: Random, which = 'true'): Write => [
  `UPDATE connections SET metadata = patch_sync(metadata, ${sync}), updated_at = now()
   WHERE id IN ${some('connections', which, random)}`,
];

const operations: ((random: Random) => Write)[] = [
  () => ['INSERT INTO tenants DEFAULT VALUES'],
  (random) => [
    `WITH t AS (INSERT INTO tenants (name) VALUES ('new') RETURNING id)
     INSERT INTO connections (tenant_id, provider_slug) SELECT id, $1 FROM t`,
    random.pick(['ledger', 'open']),
  ],
  (random) => [
    `INSERT INTO connections (tenant_id, provider_slug, status, metadata)
     SELECT id, 'open', $1, $2 FROM tenants WHERE id = (SELECT id FROM ${some('tenants', 'true', random)} t LIMIT 1)`,
    random.pick(['active', 'paused', 'disabled']),
    JSON.stringify(random.pick(invalidMetadata)),
  ],
  (random) => insertJobs('queued', random, `status = 'active'`),
  (random) => insertJobs('queued', random, 'true'),
  (random) => insertJobs('running', random, 'true'),
  (random) => insertJobs(random.pick(['succeeded', 'failed', 'cancelled', 'completed']), random, 'true'),
  (random) => endJobs(random.pick(['succeeded', 'failed', 'completed']), `'running'`, random),
  (random) => endJobs('cancelled', `'queued', 'running'`, random),
  // A worker of its own takes a job.
  (random) => [
    `UPDATE sync_jobs SET status = 'running', started_at = now(), updated_at = now()
     WHERE id IN ${some('sync_jobs', `status = 'queued'`, random)}`,
  ],
  // Also a job that ended while it was blocked.
  (random) => [
    `UPDATE sync_jobs SET status = 'queued', finished_at = NULL, cursor = NULL, scheduled_at = now()
     WHERE id IN ${some('sync_jobs', `status IN (${random.pick([ended, `'running'`])})`, random)}`,
  ],
  (random) => [`DELETE FROM sync_jobs WHERE id IN ${some('sync_jobs', 'true', random)}`],
  (random) => [
    `DELETE FROM connections WHERE id = (SELECT id FROM ${some('connections', 'true', random)} c LIMIT 1)`,
  ],
  (random) => patch(`jsonb_build_object('next_run_at', ${isoTime(random.integer(-3600, 3600))})`, random),
  (random) => patch(`jsonb_build_object('next_run_at', NULL)`, random),
  (random) => patch(`'{"interval_seconds": ${random.pick(['60', '300', '5', '"x"'])}}'`, random),
  (random) => [
    `UPDATE connections SET metadata = $1 WHERE id IN ${some('connections', `provider_slug = 'open'`, random)}`,
    JSON.stringify(random.pick(invalidMetadata)),
  ],
  (random) => [
    `UPDATE connections SET schedule = $1 WHERE id IN ${some('connections', 'true', random)}`,
    JSON.stringify(random.pick(schedules)),
  ],
  (random) => [
    `UPDATE connections SET status = $1, updated_at = now() WHERE id IN ${some('connections', 'true', random)}`,
    random.pick(['active', 'active', 'paused', 'needs_auth', 'disabled']),
  ],
  (random) => [
    `UPDATE sync_jobs SET priority = $1, scheduled_at = now() + $2 * interval '1 second',
       retry_after = CASE WHEN $3 THEN now() + interval '50 ms' END
     WHERE id IN ${some('sync_jobs', `status = 'queued'`, random)}`,
    random.integer(-5, 20),
    random.integer(-5, 1),
    random.chance(0.5),
  ],
  (random) => [
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT tenant_id, provider_slug, id, 'outside', now(), jsonb_build_object('item', gen_random_uuid())
     FROM connections, generate_series(1, ${random.integer(1, 3)}) WHERE id IN ${some('connections', 'true', random)}
     RETURNING connection_id, payload ->> 'item' AS item`,
  ],
];
