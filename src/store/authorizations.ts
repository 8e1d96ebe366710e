import type { Queryable } from './database.ts';
import type { Sealed } from './sealed.ts';

/** A pending OAuth authorization. */
export interface AuthorizationRow {
  /** Hash of the link. */
  state: Buffer;
  connection_id: string;
  tenant_id: string;
  key_id: string;
  sealed: Buffer;
  /** Hash of the browser's secret. */
  browser: Buffer | null;
  expires_at: Date;
}

const columns = 'state, connection_id, tenant_id, key_id, sealed, browser, expires_at';

export interface NewAuthorization extends Sealed {
  /** Hash of the link. */
  link: Buffer;
  connectionId: string;
  tenantId: string;
  expiresAt: Date;
}

/** Keeps the latest `max` per connection; the caller holds the connection lock. */
export async function insertAuthorization(
  tx: Queryable,
  now: Date,
  { link, connectionId, tenantId, keyId, sealed, expiresAt }: NewAuthorization,
  max: number,
): Promise<void> {
  await tx.query(
    `DELETE FROM ${tx.schema}.authorizations WHERE state = ANY (ARRAY(
       SELECT state FROM ${tx.schema}.authorizations WHERE connection_id = $1 ORDER BY created_at DESC, state OFFSET $2))`,
    [connectionId, max - 1],
  );
  await tx.query(
    `INSERT INTO ${tx.schema}.authorizations (state, connection_id, tenant_id, key_id, sealed, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [link, connectionId, tenantId, keyId, sealed, now, expiresAt],
  );
}

export async function findAuthorization(
  db: Queryable,
  link: Buffer,
  lock: '' | 'FOR UPDATE' = '',
): Promise<AuthorizationRow | undefined> {
  const [row] = await db.query<AuthorizationRow>(
    `SELECT ${columns} FROM ${db.schema}.authorizations WHERE state = $1 ${lock}`,
    [link],
  );
  return row;
}

export interface StartedAuthorization extends Sealed {
  link: Buffer;
  providerState: Buffer;
  browser: Buffer;
  expiresAt: Date;
}

export async function startAuthorization(tx: Queryable, started: StartedAuthorization): Promise<void> {
  const { link, providerState, browser, keyId, sealed, expiresAt } = started;
  await tx.query(
    `UPDATE ${tx.schema}.authorizations
     SET provider_state = $2, browser = $3, key_id = $4, sealed = $5, expires_at = $6 WHERE state = $1`,
    [link, providerState, browser, keyId, sealed, expiresAt],
  );
}

/** DELETE … RETURNING: exactly one caller gets it, and only from the browser that started. */
export async function takeAuthorization(
  db: Queryable,
  providerState: Buffer,
  browser: Buffer,
): Promise<AuthorizationRow | undefined> {
  const [row] = await db.query<AuthorizationRow>(
    `DELETE FROM ${db.schema}.authorizations WHERE provider_state = $1 AND browser = $2 RETURNING ${columns}`,
    [providerState, browser],
  );
  return row;
}

/** Whether this state is pending, in any browser. */
export async function isAuthorizationStarted(
  db: Queryable,
  now: Date,
  providerState: Buffer,
): Promise<boolean> {
  const rows = await db.query(
    `SELECT FROM ${db.schema}.authorizations WHERE provider_state = $1 AND expires_at > $2`,
    [providerState, now],
  );
  return rows.length > 0;
}

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
