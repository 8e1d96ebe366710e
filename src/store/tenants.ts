import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

export interface TenantRow {
  id: string;
  name: string | null;
  created_at: Date;
}

const insertTenantSql = sql<TenantRow>`
  INSERT INTO :schema.tenants (id, name, created_at) VALUES (:id, :name, :now)
  RETURNING id, name, created_at`;

export async function insertTenant(db: Queryable, now: Date, id: string, name: string): Promise<TenantRow> {
  return (await insertTenantSql.first(db, { id, name, now })) as TenantRow;
}

const findTenantSql = sql<TenantRow>`SELECT id, name, created_at FROM :scope.tenants t WHERE id = :id`;

export function findTenant(db: Queryable, id: string): Promise<TenantRow | undefined> {
  return findTenantSql.first(db, { id });
}

const tenantsPage = withinBytes(
  `SELECT id, name, created_at FROM :scope.tenants t
   WHERE (:pattern::text IS NULL OR lower(name) LIKE lower(:pattern))
     AND (:after::uuid IS NULL OR id > :after)
   ORDER BY id LIMIT :limit`,
  { columns: ['name'], order: 'p.id', above: ':limit' },
);
const listTenantsSql = sql<TenantRow & Listed>`
  SELECT id, name, created_at, has_more FROM ${tenantsPage} t ORDER BY id`;

/** `search` is a case-insensitive name prefix. */
export function listTenants(
  db: Queryable,
  { search, after, limit }: { search: string | undefined; after: string | undefined; limit: number },
): Promise<(TenantRow & Listed)[]> {
  const pattern = search && `${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return listTenantsSql.all(db, { pattern, after, limit });
}
