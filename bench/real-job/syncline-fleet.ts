import pg from 'pg';
import { type Entrant, requireCount } from '../tools/contest.ts';
import { createFleet, type Fleet, providers } from '../tools/fleet.ts';
import { verifySynced } from '../tools/queue.ts';

export const synclineSchema = 'bench_fleet';
const schema = pg.escapeIdentifier(synclineSchema);

/** Connections on an hourly interval that all came due within the last ten seconds. */
export async function createDueFleet(client: pg.Client, url: string, size: number): Promise<void> {
  const fleet: Fleet = await createFleet(client, url, size, 'fleet');
  await fleet.engine.stop();
  await client.query(
    `INSERT INTO ${schema}.connections
       (id, tenant_id, provider_slug, external_id, metadata, created_at, updated_at, last_incremental_ended_at)
     SELECT md5('connection' || n)::uuid, md5('tenant' || n % 100)::uuid,
       ($1::text[])[1 + n % ${providers.length}], 'account-' || n,
       jsonb_build_object(
         'crm_owner', 'team-' || n % 7,
         'sync', jsonb_build_object(
           'next_run_at', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'interval_seconds', 3600,
           'cursor', jsonb_build_object('page', md5(n::text), 'since', due))),
       now() - interval '30 days', due - interval '1 hour', due - interval '1 hour'
     FROM generate_series(1, ${size}) n
     CROSS JOIN LATERAL (SELECT now() - (hashint4(n) & 2147483647) % 10000 * interval '1 ms' AS due) d`,
    [providers],
  );
}

export const synclineEntrant: Entrant = {
  name: 'Syncline',
  script: new URL('contenders/syncline.ts', import.meta.url),
  variants: [
    {
      name: 'sync',
      about:
        'scheduled, claimed, run, one signal and one cursor stored; 2,000 syncs at once, 1,000 in a claim, no jitter',
    },
  ],
  settled: `NOT EXISTS (SELECT FROM ${schema}.sync_jobs WHERE status IN ('queued', 'running'))`,
  verify: verifyFleet,
};

/** Throws unless every connection has run once, with its signal and its cursor stored, and has its next run ahead. */
async function verifyFleet(client: pg.Client, size: number): Promise<void> {
  await verifySynced(client, { name: 'Syncline', schema }, size);
  await requireCount(client, 'next runs ahead', `${schema}.connections WHERE due_at > now()`, size);
}
