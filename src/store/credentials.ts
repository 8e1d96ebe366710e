import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import type { Sealed } from './sealed.ts';
import { sql } from './sql.ts';

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

const columns = `c.id, c.tenant_id, c.provider_slug, c.name, c.kind, c.generation, c.expires_at,
   c.refused_at, c.refused_reason, c.refreshed_at, c.created_at, c.updated_at,
   (SELECT count(*)::int FROM (
     SELECT FROM :schema.connections n WHERE n.credential_id = c.id LIMIT ${maxCounted}) n) AS connections`;

const sealedColumns = `id, tenant_id, provider_slug, kind, key_id, sealed, generation, expires_at,
  refused_at, refused_reason, refreshed_at, updated_at`;

const credentialById = `SELECT ${columns} FROM :scope.credentials c WHERE c.id = :id`;
const findCredentialSql = {
  '': sql<CredentialRow>`${credentialById}`,
  'FOR UPDATE OF c': sql<CredentialRow>`${credentialById} FOR UPDATE OF c`,
  'FOR NO KEY UPDATE OF c': sql<CredentialRow>`${credentialById} FOR NO KEY UPDATE OF c`,
  'FOR KEY SHARE OF c': sql<CredentialRow>`${credentialById} FOR KEY SHARE OF c`,
};

export function findCredential(
  db: Queryable,
  id: string,
  lock: keyof typeof findCredentialSql = '',
): Promise<CredentialRow | undefined> {
  return findCredentialSql[lock].first(db, { id });
}

export interface CredentialFilter {
  tenantId?: string | undefined;
  provider?: string | undefined;
}

const indexed = `(:tenantId::uuid IS NULL OR c.tenant_id = :tenantId)
  AND (:after::uuid IS NULL OR c.id > :after)`;
const credentialsPage = withinBytes(
  `SELECT * FROM (SELECT * FROM :scope.credentials c WHERE ${indexed} ORDER BY c.id LIMIT :scan) c
   WHERE (:provider::text IS NULL OR c.provider_slug = :provider) ORDER BY c.id LIMIT :limit`,
  { columns: ['name', 'refused_reason'], order: 'p.id', above: ':limit' },
);
const listCredentialsSql = sql<CredentialRow & Listed>`
  SELECT ${columns}, c.has_more FROM ${credentialsPage} c ORDER BY c.id`;

export function listCredentials(
  db: Queryable,
  { tenantId, provider }: CredentialFilter,
  { after, limit, scan }: { after: string | undefined; limit: number; scan: number },
): Promise<(CredentialRow & Listed)[]> {
  return listCredentialsSql.all(db, { tenantId, after, provider, scan, limit });
}

const lastCredentialListedSql = sql<{ id: string }>`
  SELECT c.id FROM :scope.credentials c WHERE ${indexed} ORDER BY c.id OFFSET :offset LIMIT 1`;

export async function lastCredentialListed(
  db: Queryable,
  { tenantId }: CredentialFilter,
  { after, scan }: { after: string | undefined; scan: number },
): Promise<string | undefined> {
  const row = await lastCredentialListedSql.first(db, { tenantId, after, offset: scan - 1 });
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

const insertCredentialSql = sql<object>`
  INSERT INTO :schema.credentials
    (id, tenant_id, provider_slug, name, kind, key_id, sealed, expires_at, created_at, updated_at)
  SELECT :id, t.id, :provider, :name, :kind, :keyId, :sealed, :expiresAt, :now, :now
  FROM :scope.tenants t WHERE t.id = :tenantId
  RETURNING 1`;

/** false if the caller sees no such tenant. */
export async function insertCredential(
  tx: Queryable,
  now: Date,
  credential: NewCredential,
): Promise<boolean> {
  const { id, tenantId, provider, name, kind, keyId, sealed, expiresAt } = credential;
  const rows = await insertCredentialSql.all(tx, {
    id,
    tenantId,
    provider,
    name,
    kind,
    keyId,
    sealed,
    expiresAt,
    now,
  });
  return rows.length > 0;
}

const replaceSecretSql = sql<object>`
  UPDATE :schema.credentials
  SET kind = :kind, key_id = :keyId, sealed = :sealed, expires_at = :expiresAt, generation = generation + 1,
      refused_at = NULL, refused_reason = NULL, refreshed_at = NULL, updated_at = :now
  WHERE id = :id`;

export async function replaceSecret(
  tx: Queryable,
  now: Date,
  { id, kind, keyId, sealed, expiresAt }: Pick<NewCredential, 'id' | 'kind' | 'expiresAt'> & Sealed,
): Promise<void> {
  await replaceSecretSql.all(tx, { id, kind, keyId, sealed, expiresAt, now });
}

const deleteCredentialSql = sql<object>`DELETE FROM :schema.credentials WHERE id = :id`;

export async function deleteCredential(tx: Queryable, id: string): Promise<void> {
  await deleteCredentialSql.all(tx, { id });
}

const sealedById = `
  SELECT ${sealedColumns} FROM :schema.credentials WHERE tenant_id = :tenantId AND id = :id`;
const readSealedSql = {
  '': sql<SealedRow>`${sealedById}`,
  'FOR NO KEY UPDATE': sql<SealedRow>`${sealedById} FOR NO KEY UPDATE`,
  'FOR NO KEY UPDATE SKIP LOCKED': sql<SealedRow>`${sealedById} FOR NO KEY UPDATE SKIP LOCKED`,
};

/** Rechecks the foreign key: one tenant owns both. */
export function readSealed(
  db: Queryable,
  { tenantId, id }: { tenantId: string; id: string },
  lock: keyof typeof readSealedSql = '',
): Promise<SealedRow | undefined> {
  return readSealedSql[lock].first(db, { tenantId, id });
}

const storeRenewedSql = sql<SealedRow>`
  UPDATE :schema.credentials
  SET key_id = :keyId, sealed = :sealed, expires_at = :expiresAt, generation = generation + 1,
      refreshed_at = :now, updated_at = :now, refused_at = NULL, refused_reason = NULL
  WHERE id = :id AND generation = :generation
  RETURNING ${sealedColumns}`;

/** Compare-and-set on `generation`. */
export function storeRenewed(
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
  return storeRenewedSql.first(tx, { id, generation, keyId, sealed, expiresAt, now });
}

const markRefusedSql = sql<object>`
  UPDATE :schema.credentials SET refused_at = :now, refused_reason = :reason, updated_at = :now
  WHERE id = :id`;

/** No refresh until replaced. */
export async function markRefused(tx: Queryable, now: Date, id: string, reason: string): Promise<void> {
  await markRefusedSql.all(tx, { id, now, reason });
}

const writeConnectionCredentialSql = sql<object>`
  UPDATE :schema.connections SET credential_id = :credentialId, updated_at = :now WHERE id = :connectionId`;

/** null: detaches. */
export async function writeConnectionCredential(
  tx: Queryable,
  now: Date,
  connectionId: string,
  credentialId: string | null,
): Promise<void> {
  await writeConnectionCredentialSql.all(tx, { connectionId, credentialId, now });
}

export interface WaitingConnection {
  id: string;
  tenant_id: string;
  provider_slug: string;
  status: string;
}

const lockRefusedConnectionsSql = sql<WaitingConnection>`
  SELECT id, tenant_id, provider_slug, status FROM :schema.connections
  WHERE credential_id = :credentialId
    AND (status = 'needs_auth' OR (id = :connectionId::uuid AND status = 'active'))
  ORDER BY id LIMIT :limit FOR NO KEY UPDATE`;

/** The credential's `needs_auth` connections, and `connectionId` if active. Lock order: by id. */
export function lockRefusedConnections(
  tx: Queryable,
  credentialId: string,
  connectionId: string | undefined,
  limit: number,
): Promise<WaitingConnection[]> {
  return lockRefusedConnectionsSql.all(tx, { credentialId, connectionId, limit });
}
