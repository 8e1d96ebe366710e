import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { operatorId } from './scope.ts';

export interface ConsumerRow {
  tenant_id: string;
  name: string;
  after: string;
  created_at: Date;
  moved_at: Date;
}

const columns = 'tenant_id, name, after, created_at, moved_at';

export async function findConsumer(db: Queryable, name: string): Promise<ConsumerRow | undefined> {
  const [row] = await db.query<ConsumerRow>(
    `SELECT ${columns} FROM ${db.tables.consumers} c WHERE name = $1`,
    [name],
  );
  return row;
}

export function listConsumers(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(ConsumerRow & Listed)[]> {
  const page = `SELECT ${columns} FROM ${db.tables.consumers} c WHERE ($1::text IS NULL OR name > $1) ORDER BY name LIMIT $2`;
  const cut = { columns: ['name', 'after'], order: 'p.name', above: '$2' } as const;
  return db.query<ConsumerRow & Listed>(
    `SELECT ${columns}, followed FROM ${withinBytes(page, cut)} c ORDER BY name`,
    [after, limit],
  );
}

interface ConsumerKey {
  tenantId: string | undefined;
  name: string;
}

/** Clears the reader, whose next advance fails with CONFLICT. */
export async function moveConsumer(
  tx: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  after: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO ${tx.schema}.consumers (tenant_id, name, after, created_at, moved_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (tenant_id, name) DO UPDATE SET after = excluded.after, reader = NULL, moved_at = excluded.moved_at`,
    [tenantId ?? operatorId, name, after, now],
  );
}

/** Replaces the reader; a new consumer starts at `after`. */
export async function takeConsumer(
  db: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  reader: string,
  after: string,
): Promise<{ after: string; isNew: boolean }> {
  const [row] = await db.query<{ after: string; is_new: boolean }>(
    // xmax is 0 for an inserted row, and set by the lock on an existing one.
    `INSERT INTO ${db.schema}.consumers AS c (tenant_id, name, after, reader, created_at, moved_at) VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (tenant_id, name) DO UPDATE SET reader = excluded.reader
     RETURNING c.after, c.xmax = 0 AS is_new`,
    [tenantId ?? operatorId, name, after, reader, now],
  );
  return { after: row?.after ?? after, isNew: row?.is_new ?? true };
}

/** false if another reader has taken over. */
export async function advanceConsumer(
  db: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  reader: string,
  after: string,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE ${db.schema}.consumers SET after = $4, moved_at = $5 WHERE tenant_id = $1 AND name = $2 AND reader = $3 RETURNING 1`,
    [tenantId ?? operatorId, name, reader, after, now],
  );
  return rows.length > 0;
}

export async function deleteConsumer(tx: Queryable, { tenantId, name }: ConsumerKey): Promise<boolean> {
  const rows = await tx.query(
    `DELETE FROM ${tx.schema}.consumers WHERE tenant_id = $1 AND name = $2 RETURNING 1`,
    [tenantId ?? operatorId, name],
  );
  return rows.length > 0;
}
