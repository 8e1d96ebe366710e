import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

/** null fields keep their stored value. */
export async function upsertProvider(
  db: Queryable,
  now: Date,
  provider: { slug: string; displayName: string | null; authType: string | null },
): Promise<void> {
  await db.query(
    `INSERT INTO ${db.schema}.providers AS p (slug, display_name, auth_type, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (slug) DO UPDATE SET
       display_name = coalesce(excluded.display_name, p.display_name),
       auth_type = coalesce(excluded.auth_type, p.auth_type),
       updated_at = excluded.updated_at
     -- Skip no-op updates: providers are shared, and updated_at must not reveal one tenant's calls to others.
     WHERE coalesce(excluded.display_name, p.display_name) IS DISTINCT FROM p.display_name
       OR coalesce(excluded.auth_type, p.auth_type) IS DISTINCT FROM p.auth_type`,
    [provider.slug, provider.displayName, provider.authType, now],
  );
}

export interface ProviderRow {
  slug: string;
  display_name: string | null;
  auth_type: string | null;
  created_at: Date;
  updated_at: Date;
}

const providerColumns = 'slug, display_name, auth_type, created_at, updated_at';

export async function findProvider(db: Queryable, slug: string): Promise<ProviderRow | undefined> {
  const [row] = await db.query<ProviderRow>(
    `SELECT ${providerColumns} FROM ${db.schema}.providers WHERE slug = $1`,
    [slug],
  );
  return row;
}

/** Shared by all tenants, so unscoped. */
export function listProviders(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(ProviderRow & Listed)[]> {
  const page = `SELECT ${providerColumns} FROM ${db.schema}.providers WHERE ($1::text IS NULL OR slug > $1) ORDER BY slug LIMIT $2`;
  const columns = ['slug', 'display_name', 'auth_type'];
  const cut = { columns, order: 'p.slug', above: '$2' } as const;
  return db.query<ProviderRow & Listed>(
    `SELECT ${providerColumns}, followed FROM ${withinBytes(page, cut)} p ORDER BY slug`,
    [after, limit],
  );
}
