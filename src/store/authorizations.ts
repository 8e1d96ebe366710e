import type { Queryable } from './database.ts';
import type { Sealed } from './sealed.ts';
import { sql } from './sql.ts';

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

const deleteOlderSql = sql<object>`
  DELETE FROM :schema.authorizations WHERE state = ANY (ARRAY(
    SELECT state FROM :schema.authorizations WHERE connection_id = :connectionId
    ORDER BY created_at DESC, state OFFSET :kept))`;

const insertAuthorizationSql = sql<object>`
  INSERT INTO :schema.authorizations (state, connection_id, tenant_id, key_id, sealed, created_at, expires_at)
  VALUES (:link, :connectionId, :tenantId, :keyId, :sealed, :now, :expiresAt)`;

/** Keeps the latest `max`; the caller holds the connection lock. */
export async function insertAuthorization(
  tx: Queryable,
  now: Date,
  { link, connectionId, tenantId, keyId, sealed, expiresAt }: NewAuthorization,
  max: number,
): Promise<void> {
  await deleteOlderSql.all(tx, { connectionId, kept: max - 1 });
  await insertAuthorizationSql.all(tx, { link, connectionId, tenantId, keyId, sealed, now, expiresAt });
}

const findAuthorizationSql = {
  '': sql<AuthorizationRow>`SELECT ${columns} FROM :schema.authorizations WHERE state = :link`,
  'FOR UPDATE': sql<AuthorizationRow>`
    SELECT ${columns} FROM :schema.authorizations WHERE state = :link FOR UPDATE`,
};

export function findAuthorization(
  db: Queryable,
  link: Buffer,
  lock: '' | 'FOR UPDATE' = '',
): Promise<AuthorizationRow | undefined> {
  return findAuthorizationSql[lock].first(db, { link });
}

export interface StartedAuthorization extends Sealed {
  link: Buffer;
  providerState: Buffer;
  browser: Buffer;
  expiresAt: Date;
}

const startAuthorizationSql = sql<object>`
  UPDATE :schema.authorizations
  SET provider_state = :providerState, browser = :browser, key_id = :keyId, sealed = :sealed,
      expires_at = :expiresAt
  WHERE state = :link`;

export async function startAuthorization(tx: Queryable, started: StartedAuthorization): Promise<void> {
  const { link, providerState, browser, keyId, sealed, expiresAt } = started;
  await startAuthorizationSql.all(tx, { link, providerState, browser, keyId, sealed, expiresAt });
}

const takeAuthorizationSql = sql<AuthorizationRow>`
  DELETE FROM :schema.authorizations WHERE provider_state = :providerState AND browser = :browser
  RETURNING ${columns}`;

/** DELETE … RETURNING: one caller gets it. */
export function takeAuthorization(
  db: Queryable,
  providerState: Buffer,
  browser: Buffer,
): Promise<AuthorizationRow | undefined> {
  return takeAuthorizationSql.first(db, { providerState, browser });
}

const isAuthorizationStartedSql = sql<object>`
  SELECT FROM :schema.authorizations WHERE provider_state = :providerState AND expires_at > :now`;

/** In any browser. */
export async function isAuthorizationStarted(
  db: Queryable,
  now: Date,
  providerState: Buffer,
): Promise<boolean> {
  const rows = await isAuthorizationStartedSql.all(db, { providerState, now });
  return rows.length > 0;
}

const deleteAuthorizationsSql = sql<object>`
  DELETE FROM :schema.authorizations WHERE state = ANY (ARRAY(
    SELECT state FROM :schema.authorizations WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

export async function deleteAuthorizations(db: Queryable, now: Date, limit: number): Promise<number> {
  const rows = await deleteAuthorizationsSql.all(db, { now, limit });
  return rows.length;
}
