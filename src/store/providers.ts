import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

const upsertProviderSql = sql<object>`
  INSERT INTO :schema.providers AS p (slug, display_name, auth_type, created_at, updated_at)
  VALUES (:slug, :displayName, :authType, :now, :now)
  ON CONFLICT (slug) DO UPDATE SET
    display_name = coalesce(excluded.display_name, p.display_name),
    auth_type = coalesce(excluded.auth_type, p.auth_type),
    updated_at = excluded.updated_at
  -- Skip no-op updates: providers are shared, and updated_at must not reveal one tenant's calls to others.
  WHERE coalesce(excluded.display_name, p.display_name) IS DISTINCT FROM p.display_name
    OR coalesce(excluded.auth_type, p.auth_type) IS DISTINCT FROM p.auth_type`;

export async function upsertProvider(
  db: Queryable,
  now: Date,
  provider: { slug: string; displayName: string | null; authType: string | null },
): Promise<void> {
  await upsertProviderSql.all(db, {
    slug: provider.slug,
    displayName: provider.displayName,
    authType: provider.authType,
    now,
  });
}

export interface ProviderRow {
  slug: string;
  display_name: string | null;
  auth_type: string | null;
  created_at: Date;
  updated_at: Date;
}

const providerColumns = 'slug, display_name, auth_type, created_at, updated_at';

const findProviderSql = sql<ProviderRow>`
  SELECT ${providerColumns} FROM :schema.providers WHERE slug = :slug`;

export function findProvider(db: Queryable, slug: string): Promise<ProviderRow | undefined> {
  return findProviderSql.first(db, { slug });
}

const providersPage = withinBytes(
  `SELECT ${providerColumns} FROM :schema.providers
   WHERE (:after::text IS NULL OR slug > :after) ORDER BY slug LIMIT :limit`,
  { columns: ['slug', 'display_name', 'auth_type'], order: 'p.slug', above: ':limit' },
);
const listProvidersSql = sql<ProviderRow & Listed>`
  SELECT ${providerColumns}, has_more FROM ${providersPage} p ORDER BY slug`;

/** Unscoped: shared by all tenants. */
export function listProviders(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(ProviderRow & Listed)[]> {
  return listProvidersSql.all(db, { after, limit });
}
