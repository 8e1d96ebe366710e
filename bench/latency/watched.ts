import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Fleet, providers } from '../tools/fleet.ts';

/** The tenant whose connections are triggered. Nothing of it comes due by itself, so every sync of it was asked for. */
export const watchedTenant = uuidOf('watched');
const watchedConnections = 500;

/** Adds the connections that are triggered; returns their ids. */
export async function addWatched(client: pg.Client, { schema }: Fleet): Promise<string[]> {
  await client.query(
    `INSERT INTO ${schema}.tenants (id, name) VALUES ($1, 'Watched') ON CONFLICT DO NOTHING`,
    [watchedTenant],
  );
  const ids = Array.from({ length: watchedConnections }, (_, n) => uuidOf(`watched connection ${n}`));
  await client.query(
    `INSERT INTO ${schema}.connections (id, tenant_id, provider_slug, external_id, metadata)
     SELECT id, $2, ($3::text[])[1 + n % ${providers.length}], 'watched-' || n,
       '{"sync": {"next_run_at": "2099-01-01T00:00:00.000Z", "interval_seconds": 3600}}'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, n)`,
    [ids, watchedTenant, providers],
  );
  return ids;
}

function uuidOf(text: string): string {
  const hash = createHash('md5').update(text).digest('hex');
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20)].join(
    '-',
  );
}
