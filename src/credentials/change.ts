import type { AuditNote, Recorder } from '../caller/audit.ts';
import type { Secret } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import type { EventKind } from '../contract/states.ts';
import type { Ports } from '../platform/ports.ts';
import { type CredentialRow, findCredential, replaceSecret } from '../store/credentials.ts';
import type { Database, Queryable } from '../store/database.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { notFound } from '../values/arguments.ts';
import { briefLockMs, type LockRetryContext, retryLockTimeouts } from './lock-retry.ts';
import { lockWaiting, revive, reviveBatch } from './revive.ts';
import { contextOf, expiryOf } from './secret.ts';
import type { Vault } from './vault.ts';

export interface ChangeContext extends LockRetryContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  record: Recorder;
}

/** CONFLICT if a token refresh holds the row. */
export async function transactAfterRefresh<T>(
  { db, ports, stopping }: Pick<ChangeContext, 'db' | 'ports' | 'stopping'>,
  id: string,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  try {
    return await retryLockTimeouts({ ports, stopping }, () =>
      db.transaction(work, { lockTimeoutMs: briefLockMs }),
    );
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new SynclineError('CONFLICT', `Credential ${id} is being refreshed.`, {
      hint: 'Try again in a moment.',
    });
  }
}

interface Replacement {
  kind: EventKind;
  note: AuditNote;
  connectionId?: string;
  /** Throws if no longer allowed. Called under all locks. */
  check?: (tx: Queryable) => Promise<void>;
}

/**
 * Returns the changed credential. Revives waiting connections, after the first batch in separate
 * transactions: the last finds those refused before the change committed. Lock order: connections, then
 * credential.
 */
export async function replace(
  { db, ports, stopping, vault, record }: ChangeContext,
  id: string,
  secret: Secret,
  { kind, note, connectionId, check }: Replacement,
): Promise<CredentialRow> {
  const newId = () => ports.newId();
  const revival = { connectionId, ...because, record, newId, note };
  const stored = await transactAfterRefresh({ db, ports, stopping }, id, async (tx) => {
    const now = new Date(ports.now());
    const rows = await lockWaiting(tx, id, connectionId);
    const row = await requireCredentialRow(tx, id, 'FOR NO KEY UPDATE OF c');
    await check?.(tx);
    const sealed = vault.seal(contextOf({ tenantId: row.tenant_id, id }), secret);
    await replaceSecret(tx, now, { id, kind: secret.type, expiresAt: expiryOf(secret), ...sealed });
    const subject = { tenantId: row.tenant_id, connectionId: connectionId ?? null };
    await record(tx, now, { ...subject, kind, detail: detailOf({ ...row, kind: secret.type }) }, note);
    await revive(tx, { now, rows, ...revival });
    return requireCredentialRow(tx, id);
  });
  let hasMore = true;
  while (hasMore)
    hasMore = await db.transaction(async (tx) => {
      const rows = await lockWaiting(tx, id);
      await revive(tx, { now: tx.now, rows, ...revival });
      return rows.length === reviveBatch;
    });
  return stored;
}

export async function requireCredentialRow(
  tx: Queryable,
  id: string,
  lock?: Parameters<typeof findCredential>[2],
): Promise<CredentialRow> {
  const row = await findCredential(tx, id, lock);
  if (!row) throw notFound(`credential ${id}`);
  return row;
}

const because = { reason: 'its credential was replaced' };

export const detailOf = ({
  id,
  name,
  kind,
  provider_slug: provider,
}: Pick<CredentialRow, 'id' | 'name' | 'kind' | 'provider_slug'>) => ({
  credential: id,
  name,
  kind,
  provider,
});
