import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { operatorId } from './scope.ts';
import { sql } from './sql.ts';

export interface ConsumerRow {
  tenant_id: string;
  name: string;
  after: string;
  created_at: Date;
  moved_at: Date;
}

const columns = 'tenant_id, name, after, created_at, moved_at';

const findConsumerSql = sql<ConsumerRow>`SELECT ${columns} FROM :scope.consumers c WHERE name = :name`;

export function findConsumer(db: Queryable, name: string): Promise<ConsumerRow | undefined> {
  return findConsumerSql.first(db, { name });
}

const consumersPage = withinBytes(
  `SELECT ${columns} FROM :scope.consumers c
   WHERE (:after::text IS NULL OR name > :after) ORDER BY name LIMIT :limit`,
  { columns: ['name', 'after'], order: 'p.name', above: ':limit' },
);
const listConsumersSql = sql<ConsumerRow & Listed>`
  SELECT ${columns}, has_more FROM ${consumersPage} c ORDER BY name`;

export function listConsumers(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(ConsumerRow & Listed)[]> {
  return listConsumersSql.all(db, { after, limit });
}

interface ConsumerKey {
  tenantId: string | undefined;
  name: string;
}

const moveConsumerSql = sql<ConsumerRow>`
  INSERT INTO :schema.consumers (tenant_id, name, after, created_at, moved_at)
  VALUES (:owner, :name, :after, :now, :now)
  ON CONFLICT (tenant_id, name) DO UPDATE
  SET after = excluded.after, reader = NULL, moved_at = excluded.moved_at
  RETURNING ${columns}`;

/** The reader's next advance then fails with CONFLICT. */
export async function moveConsumer(
  tx: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  after: string,
): Promise<ConsumerRow> {
  const row = await moveConsumerSql.first(tx, { owner: tenantId ?? operatorId, name, after, now });
  return row as ConsumerRow;
}

/** xmax is 0 only for an inserted row. */
const takeConsumerSql = sql<{ after: string; is_new: boolean }>`
  INSERT INTO :schema.consumers AS c (tenant_id, name, after, reader, created_at, moved_at)
  VALUES (:owner, :name, :after, :reader, :now, :now)
  ON CONFLICT (tenant_id, name) DO UPDATE SET reader = excluded.reader
  RETURNING c.after, c.xmax = 0 AS is_new`;

export async function takeConsumer(
  db: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  reader: string,
  after: string,
): Promise<{ after: string; isNew: boolean }> {
  const row = await takeConsumerSql.first(db, { owner: tenantId ?? operatorId, name, after, reader, now });
  return { after: row?.after ?? after, isNew: row?.is_new ?? true };
}

const advanceConsumerSql = sql<object>`
  UPDATE :schema.consumers SET after = :after, moved_at = :now
  WHERE tenant_id = :owner AND name = :name AND reader = :reader RETURNING 1`;

/** false after another reader took over. */
export async function advanceConsumer(
  db: Queryable,
  now: Date,
  { tenantId, name }: ConsumerKey,
  reader: string,
  after: string,
): Promise<boolean> {
  const rows = await advanceConsumerSql.all(db, { owner: tenantId ?? operatorId, name, reader, after, now });
  return rows.length > 0;
}

const deleteConsumerSql = sql<object>`
  DELETE FROM :schema.consumers WHERE tenant_id = :owner AND name = :name RETURNING 1`;

export async function deleteConsumer(tx: Queryable, { tenantId, name }: ConsumerKey): Promise<boolean> {
  const rows = await deleteConsumerSql.all(tx, { owner: tenantId ?? operatorId, name });
  return rows.length > 0;
}
