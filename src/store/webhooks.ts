import type { ConnectionStatus } from '../contract/states.ts';
import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface WebhookRow {
  connection_id: string;
  created_at: Date;
  last_received_at: Date | null;
}

const findWebhookSql = sql<WebhookRow>`
  SELECT w.connection_id, w.created_at, w.last_received_at FROM :scope.webhooks w
  WHERE w.connection_id = :connectionId`;

export function findWebhook(db: Queryable, connectionId: string): Promise<WebhookRow | undefined> {
  return findWebhookSql.first(db, { connectionId });
}

export interface NewWebhook {
  connectionId: string;
  tenantId: string;
  keyId: string;
  sealed: Buffer;
}

const upsertWebhookSql = sql<object>`
  INSERT INTO :schema.webhooks (connection_id, tenant_id, key_id, sealed, created_at)
  VALUES (:connectionId, :tenantId, :keyId, :sealed, :now)
  ON CONFLICT (connection_id) DO UPDATE
  SET key_id = excluded.key_id, sealed = excluded.sealed, created_at = excluded.created_at`;

export async function upsertWebhook(tx: Queryable, now: Date, webhook: NewWebhook): Promise<void> {
  await upsertWebhookSql.all(tx, {
    connectionId: webhook.connectionId,
    tenantId: webhook.tenantId,
    keyId: webhook.keyId,
    sealed: webhook.sealed,
    now,
  });
}

const deleteWebhookSql = sql<object>`
  DELETE FROM :schema.webhooks WHERE connection_id = :connectionId RETURNING 1`;

export async function deleteWebhook(tx: Queryable, connectionId: string): Promise<boolean> {
  const rows = await deleteWebhookSql.all(tx, { connectionId });
  return rows.length > 0;
}

/** null: no secret of its own. */
export interface RecipientRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  status: ConnectionStatus;
  config: unknown;
  key_id: string | null;
  sealed: Buffer | null;
  last_received_at: Date | null;
}

const findRecipientsSql = sql<RecipientRow>`
  SELECT c.id, c.tenant_id, c.provider_slug, c.status, c.config, w.key_id, w.sealed, w.last_received_at
  FROM :schema.connections c LEFT JOIN :schema.webhooks w ON w.connection_id = c.id
  WHERE c.id = ANY (:connectionIds::uuid[]) AND c.deleting_since IS NULL`;

/** Unscoped: the signature authenticates deliveries. */
export function findRecipients(db: Queryable, connectionIds: readonly string[]): Promise<RecipientRow[]> {
  return findRecipientsSql.all(db, { connectionIds });
}

const noteReceivedSql = sql<object>`
  UPDATE :schema.webhooks SET last_received_at = :now
  WHERE connection_id = ANY (ARRAY(
    SELECT connection_id FROM :schema.webhooks
    WHERE connection_id = ANY (:connectionIds::uuid[])
      AND (last_received_at IS NULL OR last_received_at < :olderThan)
    ORDER BY connection_id FOR NO KEY UPDATE SKIP LOCKED))`;

/** Not updated since `olderThan`; skips locked rows. */
export async function noteReceived(
  db: Queryable,
  now: Date,
  connectionIds: readonly string[],
  olderThan: Date,
): Promise<void> {
  await noteReceivedSql.all(db, { connectionIds, now, olderThan });
}
