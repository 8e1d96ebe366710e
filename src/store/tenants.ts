import type { Queryable } from './database.ts';

export async function insertTenant(db: Queryable, now: Date, id: string, name: string): Promise<void> {
  await db.query(`INSERT INTO ${db.schema}.tenants (id, name, created_at) VALUES ($1, $2, $3)`, [
    id,
    name,
    now,
  ]);
}
