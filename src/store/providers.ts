import type { Queryable } from './database.ts';

/** Makes a provider known, or updates what is known of it; what is not given stays. */
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
       updated_at = excluded.updated_at`,
    [provider.slug, provider.displayName, provider.authType, now],
  );
}
