import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from './database.ts';
import { violatedConstraint } from './database-errors.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

export interface KeyRow {
  id: string;
  tenant_id: string | null;
  name: string;
  prefix: string;
  created_at: Date;
  created_by: string;
  /** The key used to create it. */
  parent_id: string | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const columns = 'id, tenant_id, name, prefix, created_at, created_by, parent_id, last_used_at, revoked_at';

export async function insertKey(
  tx: Queryable,
  key: Omit<KeyRow, 'last_used_at' | 'revoked_at'> & { hash: Buffer },
): Promise<void> {
  const { id, tenant_id, name, prefix, hash, created_at, created_by, parent_id } = key;
  await tx
    .query(
      `INSERT INTO ${tx.schema}.api_keys (id, tenant_id, name, prefix, hash, created_at, created_by, parent_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, tenant_id, name, prefix, hash, created_at, created_by, parent_id],
    )
    .catch((error: unknown) => {
      if (violatedConstraint(error) !== 'idx_api_keys_name') throw error;
      const owner = tenant_id === null ? 'The operator' : 'This tenant';
      throw new SynclineError('CONFLICT', `${owner} already has a key named ${JSON.stringify(name)}.`, {
        hint: 'Choose another name, or revoke that key first.',
      });
    });
}

export function listKeys(
  db: Queryable,
  after: string | undefined,
  limit: number,
): Promise<(KeyRow & Listed)[]> {
  const page = `SELECT ${columns} FROM ${db.tables.keys} k WHERE ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2`;
  const cut = { columns: ['name', 'prefix', 'created_by'], order: 'p.id DESC', above: '$2' } as const;
  return db.query<KeyRow & Listed>(
    `SELECT ${columns}, followed FROM ${withinBytes(page, cut)} k ORDER BY id DESC`,
    [after, limit],
  );
}

export async function findKey(
  db: Queryable,
  id: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(`SELECT ${columns} FROM ${db.tables.keys} k WHERE id = $1 ${lock}`, [
    id,
  ]);
  return row;
}

/** Locks the key against revocation until the transaction ends. */
export async function holdValidKey(tx: Queryable, id: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM ${tx.schema}.api_keys WHERE id = $1 AND revoked_at IS NULL FOR SHARE`,
    [id],
  );
  return rows.length > 0;
}

/** Transitive, also below revoked keys. */
export async function findDescendants(db: Queryable, id: string, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `WITH RECURSIVE below AS (
       SELECT k.id, k.revoked_at FROM ${db.tables.keys} k WHERE k.parent_id = $1
       UNION
       SELECT k.id, k.revoked_at FROM below b JOIN ${db.tables.keys} k ON k.parent_id = b.id)
     SELECT id FROM below WHERE revoked_at IS NULL LIMIT $2`,
    [id, limit],
  );
  return rows.map((row) => row.id);
}

/** Returns the keys that were valid. */
export async function revokeKeys(tx: Queryable, now: Date, ids: string[]): Promise<KeyRow[]> {
  const rows = await tx.query<KeyRow>(
    `UPDATE ${tx.schema}.api_keys SET revoked_at = $2 WHERE id = ANY ($1::uuid[]) AND revoked_at IS NULL RETURNING ${columns}`,
    [ids, now],
  );
  await tx.query(`DELETE FROM ${tx.schema}.sessions WHERE key_id = ANY ($1::uuid[])`, [ids]);
  return rows;
}

/** Includes revoked keys. */
export async function findRefusedKey(db: Queryable, hash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(`SELECT ${columns} FROM ${db.schema}.api_keys WHERE hash = $1`, [
    hash,
  ]);
  return row;
}

/** Includes expired sessions. */
export async function findRefusedSession(db: Queryable, hash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(
    `SELECT ${columns} FROM ${db.schema}.api_keys WHERE id = (SELECT s.key_id FROM ${db.schema}.sessions s WHERE s.hash = $1)`,
    [hash],
  );
  return row;
}

/** Avoids a write per request. */
const lastUsedGranularitySeconds = 300;

export async function useKey(db: Queryable, now: Date, hash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(
    `SELECT ${columns} FROM ${db.schema}.api_keys WHERE hash = $1 AND revoked_at IS NULL`,
    [hash],
  );
  if (row && (row.last_used_at?.getTime() ?? 0) < now.getTime() - lastUsedGranularitySeconds * 1000)
    // SKIP LOCKED: authentication must not wait for locks.
    await db.query(
      `UPDATE ${db.schema}.api_keys SET last_used_at = $2
       WHERE id = (SELECT id FROM ${db.schema}.api_keys WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED)`,
      [row.id, now],
    );
  return row;
}

export interface SessionRow {
  actor: string;
  key_id: string | null;
  key_name: string | null;
  tenant_id: string | null;
}

export async function insertSession(
  db: Queryable,
  session: { hash: Buffer; keyId: string | undefined; actor: string; now: Date; expiresAt: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO ${db.schema}.sessions (hash, key_id, actor, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
    [session.hash, session.keyId, session.actor, session.now, session.expiresAt],
  );
}

export async function findSession(db: Queryable, now: Date, hash: Buffer): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(
    `SELECT s.actor, s.key_id, k.name AS key_name, k.tenant_id
     FROM ${db.schema}.sessions s LEFT JOIN ${db.schema}.api_keys k ON k.id = s.key_id
     WHERE s.hash = $1 AND s.expires_at > $2 AND k.revoked_at IS NULL`,
    [hash, now],
  );
  return row;
}

export async function deleteSession(
  db: Queryable,
  hash: Buffer,
): Promise<Omit<SessionRow, 'key_name'> | undefined> {
  const [row] = await db.query<Omit<SessionRow, 'key_name'>>(
    `DELETE FROM ${db.schema}.sessions s WHERE hash = $1
     RETURNING actor, key_id, (SELECT k.tenant_id FROM ${db.schema}.api_keys k WHERE k.id = s.key_id) AS tenant_id`,
    [hash],
  );
  return row;
}

export async function deleteSessions(db: Queryable, now: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.sessions WHERE hash = ANY (ARRAY(
       SELECT hash FROM ${db.schema}.sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [now, limit],
  );
  return rows.length;
}
