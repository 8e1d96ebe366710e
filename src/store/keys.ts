import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from './database.ts';
import { violatedConstraint } from './database-errors.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

export interface KeyRow {
  id: string;
  tenant_id: string | null;
  name: string;
  prefix: string;
  created_at: Date;
  created_by: string;
  parent_id: string | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const columns = 'id, tenant_id, name, prefix, created_at, created_by, parent_id, last_used_at, revoked_at';

const insertKeySql = sql<object>`
  INSERT INTO :schema.api_keys (id, tenant_id, name, prefix, hash, created_at, created_by, parent_id)
  VALUES (:id, :tenant_id, :name, :prefix, :hash, :created_at, :created_by, :parent_id)`;

export async function insertKey(
  tx: Queryable,
  key: Omit<KeyRow, 'last_used_at' | 'revoked_at'> & { hash: Buffer },
): Promise<void> {
  const { id, tenant_id, name, prefix, hash, created_at, created_by, parent_id } = key;
  await insertKeySql
    .all(tx, { id, tenant_id, name, prefix, hash, created_at, created_by, parent_id })
    .catch((error: unknown) => {
      if (violatedConstraint(error) !== 'idx_api_keys_name') throw error;
      const owner = tenant_id === null ? 'The operator' : 'This tenant';
      throw new SynclineError('CONFLICT', `${owner} already has a key named ${JSON.stringify(name)}.`, {
        hint: 'Choose another name, or revoke that key first.',
      });
    });
}

const keysPage = withinBytes(
  `SELECT ${columns} FROM :scope.api_keys k
   WHERE (:after::uuid IS NULL OR id < :after) ORDER BY id DESC LIMIT :limit`,
  { columns: ['name', 'prefix', 'created_by'], order: 'p.id DESC', above: ':limit' },
);
const listKeysSql = sql<KeyRow & Listed>`SELECT ${columns}, has_more FROM ${keysPage} k ORDER BY id DESC`;

export function listKeys(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(KeyRow & Listed)[]> {
  return listKeysSql.all(db, { after, limit });
}

const findKeySql = {
  '': sql<KeyRow>`SELECT ${columns} FROM :scope.api_keys k WHERE id = :id`,
  'FOR UPDATE': sql<KeyRow>`SELECT ${columns} FROM :scope.api_keys k WHERE id = :id FOR UPDATE`,
};

export function findKey(
  db: Queryable,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<KeyRow | undefined> {
  return findKeySql[lock].first(db, { id });
}

const holdValidKeySql = sql<object>`
  SELECT FROM :schema.api_keys WHERE id = :id AND revoked_at IS NULL FOR SHARE`;

/** Locks against revocation until the transaction ends. */
export async function holdValidKey(tx: Queryable, id: string): Promise<boolean> {
  const rows = await holdValidKeySql.all(tx, { id });
  return rows.length > 0;
}

const findDescendantsSql = sql<{ id: string }>`
  WITH RECURSIVE below AS (
    SELECT k.id, k.revoked_at FROM :scope.api_keys k WHERE k.parent_id = :id
    UNION
    SELECT k.id, k.revoked_at FROM below b JOIN :scope.api_keys k ON k.parent_id = b.id)
  SELECT id FROM below WHERE revoked_at IS NULL LIMIT :limit`;

/** Also below revoked keys. */
export async function findDescendants(db: Queryable, id: string, limit: number): Promise<string[]> {
  const rows = await findDescendantsSql.all(db, { id, limit });
  return rows.map((row) => row.id);
}

const deleteSessionsOfKeysSql = sql<object>`DELETE FROM :schema.sessions WHERE key_id = ANY (:ids::uuid[])`;

const revokeKeysSql = sql<KeyRow>`
  UPDATE :schema.api_keys SET revoked_at = :now WHERE id = ANY (:ids::uuid[]) AND revoked_at IS NULL
  RETURNING ${columns}`;

/** Returns those that were valid. */
export async function revokeKeys(tx: Queryable, now: Date, ids: string[]): Promise<KeyRow[]> {
  const rows = await revokeKeysSql.all(tx, { ids, now });
  await deleteSessionsOfKeysSql.all(tx, { ids });
  return rows;
}

const findRefusedKeySql = sql<KeyRow>`SELECT ${columns} FROM :schema.api_keys WHERE hash = :hash`;

/** Includes revoked keys. */
export function findRefusedKey(db: Queryable, hash: Buffer): Promise<KeyRow | undefined> {
  return findRefusedKeySql.first(db, { hash });
}

const findRefusedSessionSql = sql<KeyRow>`
  SELECT ${columns} FROM :schema.api_keys
  WHERE id = (SELECT s.key_id FROM :schema.sessions s WHERE s.hash = :hash)`;

/** Includes expired sessions. */
export function findRefusedSession(db: Queryable, hash: Buffer): Promise<KeyRow | undefined> {
  return findRefusedSessionSql.first(db, { hash });
}

/** Avoids a write per request. */
const lastUsedGranularitySeconds = 300;

const noteUseSql = sql<object>`
  UPDATE :schema.api_keys SET last_used_at = :now
  WHERE id = (SELECT id FROM :schema.api_keys WHERE id = :id FOR NO KEY UPDATE SKIP LOCKED)`;

const useKeySql = sql<KeyRow>`
  SELECT ${columns} FROM :schema.api_keys WHERE hash = :hash AND revoked_at IS NULL`;

export async function useKey(db: Queryable, now: Date, hash: Buffer): Promise<KeyRow | undefined> {
  const row = await useKeySql.first(db, { hash });
  if (row && (row.last_used_at?.getTime() ?? 0) < now.getTime() - lastUsedGranularitySeconds * 1000)
    // SKIP LOCKED: authentication must not wait.
    await noteUseSql.all(db, { id: row.id, now });
  return row;
}

export interface SessionRow {
  actor: string;
  key_id: string | null;
  key_name: string | null;
  tenant_id: string | null;
}

const insertSessionSql = sql<object>`
  INSERT INTO :schema.sessions (hash, key_id, actor, created_at, expires_at)
  VALUES (:hash, :keyId, :actor, :now, :expiresAt)`;

export async function insertSession(
  db: Queryable,
  session: { hash: Buffer; keyId: string | undefined; actor: string; now: Date; expiresAt: Date },
): Promise<void> {
  await insertSessionSql.all(db, {
    hash: session.hash,
    keyId: session.keyId,
    actor: session.actor,
    now: session.now,
    expiresAt: session.expiresAt,
  });
}

const findSessionSql = sql<SessionRow>`
  SELECT s.actor, s.key_id, k.name AS key_name, k.tenant_id
  FROM :schema.sessions s LEFT JOIN :schema.api_keys k ON k.id = s.key_id
  WHERE s.hash = :hash AND s.expires_at > :now AND k.revoked_at IS NULL`;

export function findSession(db: Queryable, now: Date, hash: Buffer): Promise<SessionRow | undefined> {
  return findSessionSql.first(db, { hash, now });
}

const deleteSessionSql = sql<Omit<SessionRow, 'key_name'>>`
  DELETE FROM :schema.sessions s WHERE hash = :hash
  RETURNING actor, key_id, (SELECT k.tenant_id FROM :schema.api_keys k WHERE k.id = s.key_id) AS tenant_id`;

export function deleteSession(
  db: Queryable,
  hash: Buffer,
): Promise<Omit<SessionRow, 'key_name'> | undefined> {
  return deleteSessionSql.first(db, { hash });
}

const deleteSessionsSql = sql<object>`
  DELETE FROM :schema.sessions WHERE hash = ANY (ARRAY(
    SELECT hash FROM :schema.sessions WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

export async function deleteSessions(db: Queryable, now: Date, limit: number): Promise<number> {
  const rows = await deleteSessionsSql.all(db, { now, limit });
  return rows.length;
}
