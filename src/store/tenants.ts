import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

export interface TenantRow {
  id: string;
  name: string | null;
  created_at: Date;
}

export async function insertTenant(db: Queryable, now: Date, id: string, name: string): Promise<void> {
  await db.query(`INSERT INTO ${db.schema}.tenants (id, name, created_at) VALUES ($1, $2, $3)`, [
    id,
    name,
    now,
  ]);
}

export async function findTenant(db: Queryable, id: string): Promise<TenantRow | undefined> {
  const [row] = await db.query<TenantRow>(
    `SELECT id, name, created_at FROM ${db.tables.tenants} t WHERE id = $1`,
    [id],
  );
  return row;
}

/** `search` is a case-insensitive name prefix. */
export function listTenants(
  db: Queryable,
  { search, after, limit }: { search: string | undefined; after: string | undefined; limit: number },
): Promise<(TenantRow & Listed)[]> {
  const page = `SELECT id, name, created_at FROM ${db.tables.tenants} t
     WHERE ($1::text IS NULL OR lower(name) LIKE lower($1)) AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`;
  const cut = { columns: ['name'], order: 'p.id', above: '$3' } as const;
  return db.query<TenantRow & Listed>(
    `SELECT id, name, created_at, followed
     FROM ${withinBytes(page, cut)} t ORDER BY id`,
    [search && `${search.replaceAll(/[\\%_]/g, '\\$&')}%`, after, limit],
  );
}
