import type { ConnectionStatus } from './connections.ts';
import type { Queryable } from './database.ts';

export interface WebhookRow {
  connection_id: string;
  created_at: Date;
  last_received_at: Date | null;
}

export async function findWebhook(db: Queryable, connectionId: string): Promise<WebhookRow | undefined> {
  const [row] = await db.query<WebhookRow>(
    `SELECT w.connection_id, w.created_at, w.last_received_at FROM ${db.tables.webhooks} w WHERE w.connection_id = $1`,
    [connectionId],
  );
  return row;
}

export interface NewWebhook {
  connectionId: string;
  tenantId: string;
  keyId: string;
  sealed: Buffer;
}

/** Replaces the secret of an existing webhook. */
export async function upsertWebhook(tx: Queryable, now: Date, webhook: NewWebhook): Promise<void> {
  await tx.query(
    `INSERT INTO ${tx.schema}.webhooks (connection_id, tenant_id, key_id, sealed, created_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (connection_id) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed, created_at = excluded.created_at`,
    [webhook.connectionId, webhook.tenantId, webhook.keyId, webhook.sealed, now],
  );
}

export async function deleteWebhook(tx: Queryable, connectionId: string): Promise<boolean> {
  const rows = await tx.query(`DELETE FROM ${tx.schema}.webhooks WHERE connection_id = $1 RETURNING 1`, [
    connectionId,
  ]);
  return rows.length > 0;
}

/** The secret is null unless the connection has its own. */
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

/** Unscoped: deliveries are authenticated by signature. */
export function findRecipients(db: Queryable, connectionIds: readonly string[]): Promise<RecipientRow[]> {
  return db.query<RecipientRow>(
    `SELECT c.id, c.tenant_id, c.provider_slug, c.status, c.config, w.key_id, w.sealed, w.last_received_at
     FROM ${db.schema}.connections c LEFT JOIN ${db.schema}.webhooks w ON w.connection_id = c.id
     WHERE c.id = ANY ($1::uuid[]) AND c.deleting_since IS NULL`,
    [connectionIds],
  );
}

/** Only rows not updated since `olderThan`; skips locked ones. */
export async function noteReceived(
  db: Queryable,
  now: Date,
  connectionIds: readonly string[],
  olderThan: Date,
): Promise<void> {
  await db.query(
    `UPDATE ${db.schema}.webhooks SET last_received_at = $2
     WHERE connection_id = ANY (ARRAY(
       SELECT connection_id FROM ${db.schema}.webhooks
       WHERE connection_id = ANY ($1::uuid[]) AND (last_received_at IS NULL OR last_received_at < $3)
       ORDER BY connection_id FOR NO KEY UPDATE SKIP LOCKED))`,
    [connectionIds, now, olderThan],
  );
}
