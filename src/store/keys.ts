import type { Queryable } from './database.ts';

export interface KeyRow {
  id: string;
  tenant_id: string | null;
  name: string;
  prefix: string;
  created_at: Date;
  created_by: string;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const columns = 'id, tenant_id, name, prefix, created_at, created_by, last_used_at, revoked_at';

export async function insertKey(
  tx: Queryable,
  key: Omit<KeyRow, 'last_used_at' | 'revoked_at'> & { hash: Buffer },
): Promise<void> {
  await tx.query(
    `INSERT INTO ${tx.schema}.api_keys (id, tenant_id, name, prefix, hash, created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [key.id, key.tenant_id, key.name, key.prefix, key.hash, key.created_at, key.created_by],
  );
}

export function listKeys(db: Queryable, after: string | undefined, limit: number): Promise<KeyRow[]> {
  return db.query<KeyRow>(
    `SELECT ${columns} FROM ${db.tables.keys} k WHERE ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2`,
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

/** A revoked key opens nothing, and neither does what was opened with it. */
export async function revokeKey(tx: Queryable, now: Date, id: string): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.api_keys SET revoked_at = $2 WHERE id = $1`, [id, now]);
  await tx.query(`DELETE FROM ${tx.schema}.sessions WHERE key_id = $1`, [id]);
}

/** How exactly it is known when a key was last used: a write per request would be too much. */
const usedEverySeconds = 300;

/** The key with this hash, unless it was revoked; notes that it was used. */
export async function useKey(db: Queryable, now: Date, hash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await db.query<KeyRow>(
    `SELECT ${columns} FROM ${db.schema}.api_keys WHERE hash = $1 AND revoked_at IS NULL`,
    [hash],
  );
  if (row && (row.last_used_at?.getTime() ?? 0) < now.getTime() - usedEverySeconds * 1000)
    await db.query(`UPDATE ${db.schema}.api_keys SET last_used_at = $2 WHERE id = $1`, [row.id, now]);
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

export async function deleteSession(db: Queryable, hash: Buffer): Promise<void> {
  await db.query(`DELETE FROM ${db.schema}.sessions WHERE hash = $1`, [hash]);
}

/** Deletes some of the sessions that are over, and returns how many. */
export async function deleteSessions(db: Queryable, now: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.sessions WHERE hash = ANY (ARRAY(
       SELECT hash FROM ${db.schema}.sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [now, limit],
  );
  return rows.length;
}
