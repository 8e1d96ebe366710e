import type { Sealed } from '../credentials/vault.ts';
import type { Queryable } from './database.ts';

/** Somebody who was sent to a provider and is not back yet. */
export interface AuthorizationRow {
  connection_id: string;
  tenant_id: string;
  key_id: string;
  sealed: Buffer;
  expires_at: Date;
}

export interface NewAuthorization extends Sealed {
  /** The hash of what they carry. */
  state: Buffer;
  connectionId: string;
  tenantId: string;
  expiresAt: Date;
}

/** Keeps the latest of a connection and no others. Whoever calls holds the connection, so that the bound holds. */
export async function insertAuthorization(
  tx: Queryable,
  now: Date,
  { state, connectionId, tenantId, keyId, sealed, expiresAt }: NewAuthorization,
  most: number,
): Promise<void> {
  await tx.query(
    `DELETE FROM ${tx.schema}.authorizations WHERE state = ANY (ARRAY(
       SELECT state FROM ${tx.schema}.authorizations WHERE connection_id = $1 ORDER BY created_at DESC, state OFFSET $2))`,
    [connectionId, most - 1],
  );
  await tx.query(
    `INSERT INTO ${tx.schema}.authorizations (state, connection_id, tenant_id, key_id, sealed, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [state, connectionId, tenantId, keyId, sealed, now, expiresAt],
  );
}

/** Whoever takes it is the only one. */
export async function takeAuthorization(db: Queryable, state: Buffer): Promise<AuthorizationRow | undefined> {
  const [row] = await db.query<AuthorizationRow>(
    `DELETE FROM ${db.schema}.authorizations WHERE state = $1
     RETURNING connection_id, tenant_id, key_id, sealed, expires_at`,
    [state],
  );
  return row;
}

/** Deletes some of those who never came back, and returns how many. */
export async function deleteAuthorizations(db: Queryable, now: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.authorizations WHERE state = ANY (ARRAY(
       SELECT state FROM ${db.schema}.authorizations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2
       FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [now, limit],
  );
  return rows.length;
}
