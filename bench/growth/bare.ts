import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Fleet } from '../tools/fleet.ts';

/**
 * What the executor is compared with: SQL that claims, finishes and stores the same rows, under the same triggers and with
 * the same plans, in batches of the same size and as many transactions. No connector is called, no claim is checked against
 * a lease, nothing is ordered across providers, and no row but the ids leaves the database.
 */

const plans = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off';

const claim = (schema: string) => `
  WITH picked AS MATERIALIZED (
    SELECT id FROM ${schema}.sync_jobs
    WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at <= $1
    ORDER BY provider_slug, priority, scheduled_at
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE ${schema}.sync_jobs
    SET status = 'running', started_at = $1, updated_at = $1, process_id = $3, claim_id = $4
    WHERE id = ANY (ARRAY(SELECT id FROM picked))
    RETURNING id
  )
  SELECT array_agg(id)::text AS ids, count(*)::int AS jobs FROM claimed`;

const finish = (schema: string) => `
  WITH ended AS (
    UPDATE ${schema}.sync_jobs
    SET status = 'succeeded', finished_at = $1, updated_at = $1, process_id = NULL
    WHERE id = ANY ($2::uuid[]) AND claim_id = $3
    RETURNING id, tenant_id, provider_slug, connection_id
  ), stored AS (
    INSERT INTO ${schema}.signals
      (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key, received_at, created_at)
    SELECT uuidv7(), tenant_id, provider_slug, connection_id, id, 'issue.opened', $1,
      jsonb_build_object('number', 1234, 'title', 'A small payload', 'account', connection_id), id::text, $1, $1
    FROM ended
    ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
  )
  UPDATE ${schema}.connections c
  SET metadata = ${schema}.patch_sync(c.metadata, jsonb_build_object('cursor', jsonb_build_object('page', ended.id, 'since', $1))),
      last_incremental_ended_at = greatest(c.last_incremental_ended_at, $1), waits_for_job = false, updated_at = $1
  FROM ended WHERE c.id = ended.connection_id`;

export async function connectBare(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  await client.query(plans);
  return client;
}

/** Until nothing is due; returns how many were done. */
export async function drainBare(client: pg.Client, { schema }: Fleet, batchSize: number): Promise<number> {
  const processId = randomUUID();
  const [claiming, finishing] = [claim(schema), finish(schema)];
  for (let done = 0; ; ) {
    const claimId = randomUUID();
    const claimed = await client.query<{ ids: string | null; jobs: number }>(claiming, [
      new Date(),
      batchSize,
      processId,
      claimId,
    ]);
    const { ids, jobs } = claimed.rows[0] ?? { ids: null, jobs: 0 };
    if (ids === null) return done;
    await client.query(finishing, [new Date(), ids, claimId]);
    done += jobs;
  }
}
