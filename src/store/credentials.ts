import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import type { Sealed } from './sealed.ts';

type CredentialKind = 'api_key' | 'basic' | 'oauth2' | 'custom';

/** Without the secret. */
export interface CredentialRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  name: string | null;
  kind: CredentialKind;
  generation: number;
  expires_at: Date | null;
  refused_at: Date | null;
  refused_reason: string | null;
  refreshed_at: Date | null;
  created_at: Date;
  updated_at: Date;
  /** Capped at `maxCounted`. */
  connections: number;
}

export interface SealedRow extends Omit<CredentialRow, 'name' | 'created_at' | 'connections'> {
  key_id: string;
  sealed: Buffer;
}

export const sealedOf = ({ key_id: keyId, sealed }: { key_id: string; sealed: Buffer }): Sealed => ({
  keyId,
  sealed,
});

const maxCounted = 1000;

const columns = (db: Queryable) =>
  `c.id, c.tenant_id, c.provider_slug, c.name, c.kind, c.generation, c.expires_at, c.refused_at, c.refused_reason,
   c.refreshed_at, c.created_at, c.updated_at,
   (SELECT count(*)::int FROM (SELECT FROM ${db.schema}.connections n WHERE n.credential_id = c.id LIMIT ${maxCounted}) n) AS connections`;

const sealedColumns = `id, tenant_id, provider_slug, kind, key_id, sealed, generation, expires_at, refused_at, refused_reason,
  refreshed_at, updated_at`;

export async function findCredential(
  db: Queryable,
  id: string,
  lock: '' | 'FOR UPDATE OF c' | 'FOR NO KEY UPDATE OF c' | 'FOR KEY SHARE OF c' = '',
): Promise<CredentialRow | undefined> {
  const [row] = await db.query<CredentialRow>(
    `SELECT ${columns(db)} FROM ${db.tables.credentials} c WHERE c.id = $1 ${lock}`,
    [id],
  );
  return row;
}

export interface CredentialFilter {
  tenantId?: string | undefined;
  provider?: string | undefined;
}

/** Reads at most `scan` rows. */
export function listCredentials(
  db: Queryable,
  { tenantId, provider }: CredentialFilter,
  { after, limit, scan }: { after: string | undefined; limit: number; scan: number },
): Promise<(CredentialRow & Listed)[]> {
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.credentials} c WHERE ${indexed} ORDER BY c.id LIMIT $4) c
     WHERE ($3::text IS NULL OR c.provider_slug = $3) ORDER BY c.id LIMIT $5`;
  const cut = { columns: ['name', 'refused_reason'], order: 'p.id', above: '$5' } as const;
  return db.query<CredentialRow & Listed>(
    `SELECT ${columns(db)}, c.followed FROM ${withinBytes(page, cut)} c ORDER BY c.id`,
    [tenantId, after, provider, scan, limit],
  );
}

const indexed = '($1::uuid IS NULL OR c.tenant_id = $1) AND ($2::uuid IS NULL OR c.id > $2)';

/** The last row scanned; undefined at the end. */
export async function lastCredentialListed(
  db: Queryable,
  { tenantId }: CredentialFilter,
  { after, scan }: { after: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT c.id FROM ${db.tables.credentials} c WHERE ${indexed} ORDER BY c.id OFFSET $3 LIMIT 1`,
    [tenantId, after, scan - 1],
  );
  return row?.id;
}

export interface NewCredential extends Sealed {
  id: string;
  tenantId: string;
  provider: string;
  name: string | null;
  kind: CredentialKind;
  expiresAt: Date | null;
}

/** false if the caller sees no such tenant. */
export async function insertCredential(
  tx: Queryable,
  now: Date,
  credential: NewCredential,
): Promise<boolean> {
  const { id, tenantId, provider, name, kind, keyId, sealed, expiresAt } = credential;
  const rows = await tx.query(
    `INSERT INTO ${tx.schema}.credentials (id, tenant_id, provider_slug, name, kind, key_id, sealed, expires_at, created_at, updated_at)
     SELECT $1, t.id, $3, $4, $5, $6, $7, $8, $9, $9 FROM ${tx.tables.tenants} t WHERE t.id = $2
     RETURNING 1`,
    [id, tenantId, provider, name, kind, keyId, sealed, expiresAt, now],
  );
  return rows.length > 0;
}

/** Clears refusal and refresh state. */
export async function replaceSecret(
  tx: Queryable,
  now: Date,
  { id, kind, keyId, sealed, expiresAt }: Pick<NewCredential, 'id' | 'kind' | 'expiresAt'> & Sealed,
): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.credentials
     SET kind = $2, key_id = $3, sealed = $4, expires_at = $5, generation = generation + 1,
         refused_at = NULL, refused_reason = NULL, refreshed_at = NULL, updated_at = $6
     WHERE id = $1`,
    [id, kind, keyId, sealed, expiresAt, now],
  );
}

export async function deleteCredential(tx: Queryable, id: string): Promise<void> {
  await tx.query(`DELETE FROM ${tx.schema}.credentials WHERE id = $1`, [id]);
}

/** A foreign key already ties connection and credential to one tenant; checked again here. */
export async function readSealed(
  db: Queryable,
  { tenantId, id }: { tenantId: string; id: string },
  lock: '' | 'FOR NO KEY UPDATE' | 'FOR NO KEY UPDATE SKIP LOCKED' = '',
): Promise<SealedRow | undefined> {
  const [row] = await db.query<SealedRow>(
    `SELECT ${sealedColumns} FROM ${db.schema}.credentials WHERE tenant_id = $1 AND id = $2 ${lock}`,
    [tenantId, id],
  );
  return row;
}

/** Compare-and-set on `generation`. */
export async function storeRenewed(
  tx: Queryable,
  now: Date,
  {
    id,
    generation,
    keyId,
    sealed,
    expiresAt,
  }: { id: string; generation: number; expiresAt: Date | null } & Sealed,
): Promise<SealedRow | undefined> {
  const [row] = await tx.query<SealedRow>(
    `UPDATE ${tx.schema}.credentials
     SET key_id = $3, sealed = $4, expires_at = $5, generation = generation + 1, refreshed_at = $6, updated_at = $6,
         refused_at = NULL, refused_reason = NULL
     WHERE id = $1 AND generation = $2
     RETURNING ${sealedColumns}`,
    [id, generation, keyId, sealed, expiresAt, now],
  );
  return row;
}

/** No refresh until the credential is replaced. */
export async function markRefused(tx: Queryable, now: Date, id: string, reason: string): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.credentials SET refused_at = $2, refused_reason = $3, updated_at = $2 WHERE id = $1`,
    [id, now, reason],
  );
}

/** null detaches the credential. */
export async function writeConnectionCredential(
  tx: Queryable,
  now: Date,
  connectionId: string,
  credentialId: string | null,
): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.connections SET credential_id = $2, updated_at = $3 WHERE id = $1`, [
    connectionId,
    credentialId,
    now,
  ]);
}

export interface WaitingConnection {
  id: string;
  tenant_id: string;
  provider_slug: string;
  status: string;
}

/** The credential's `needs_auth` connections, and `connectionId` if active. Lock order: by id. */
export function lockRefusedConnections(
  tx: Queryable,
  credentialId: string,
  connectionId: string | undefined,
  limit: number,
): Promise<WaitingConnection[]> {
  return tx.query<WaitingConnection>(
    `SELECT id, tenant_id, provider_slug, status FROM ${tx.schema}.connections
     WHERE credential_id = $1 AND (status = 'needs_auth' OR (id = $2::uuid AND status = 'active'))
     ORDER BY id LIMIT $3 FOR NO KEY UPDATE`,
    [credentialId, connectionId, limit],
  );
}
