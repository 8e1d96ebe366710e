import type { AuditNote, Recorder } from '../caller/audit.ts';
import type { Secret } from '../contract/credential.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { type CredentialRow, findCredential, replaceSecret } from '../store/credentials.ts';
import type { Database, Queryable } from '../store/database.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import type { EventKind } from '../store/events.ts';
import { notFound } from '../values/arguments.ts';
import { briefLockMs, patiently } from './patience.ts';
import { lockWaiting, revive, revivedAtOnce } from './revive.ts';
import { contextOf, expiryOf } from './secret.ts';
import type { Vault } from './vault.ts';

export interface ChangeContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  record: Recorder;
}

/** As long as a renewal may hold the row. One that takes even longer is told of. */
export async function whenFree<T>(
  { db, ports }: Pick<ChangeContext, 'db' | 'ports'>,
  id: string,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  try {
    return await patiently(ports, () => db.transaction(work, { lockTimeoutMs: briefLockMs }));
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new SynclineError('CONFLICT', `Credential ${id} is being renewed right now.`, {
      hint: 'Try again in a moment.',
    });
  }
}

interface Replacement {
  kind: EventKind;
  doer: AuditNote;
  connectionId?: string;
  /** Throws where the change is not allowed any more. Runs in the transaction, once everything is locked. */
  check?: (tx: Queryable) => Promise<void>;
}

/**
 * Puts another secret in place of one, and wakes what waited for it. Connections are locked before the credential, as
 * everywhere; more than a batch of them follow in transactions of their own.
 */
export async function replace(
  { db, ports, vault, record }: ChangeContext,
  id: string,
  secret: Secret,
  { kind, doer, connectionId, check }: Replacement,
): Promise<void> {
  const newId = () => ports.newId();
  const how = { connectionId, ...because, record, newId, doer };
  let isMore = await whenFree({ db, ports }, id, async (tx) => {
    const now = new Date(ports.now());
    const rows = await lockWaiting(tx, id, connectionId);
    const row = await findCredential(tx, id, 'FOR NO KEY UPDATE OF c');
    if (!row) throw notFound(`credential ${id}`);
    await check?.(tx);
    const sealed = vault.seal(contextOf({ tenantId: row.tenant_id, id }), secret);
    await replaceSecret(tx, now, { id, kind: secret.type, expiresAt: expiryOf(secret), ...sealed });
    const concerns = { tenantId: row.tenant_id, connectionId: connectionId ?? null };
    await record(tx, now, { ...concerns, kind, detail: detailOf({ ...row, kind: secret.type }) }, doer);
    await revive(tx, { now, rows, ...how });
    return rows.length === revivedAtOnce;
  });
  while (isMore)
    isMore = await db.transaction(async (tx) => {
      const rows = await lockWaiting(tx, id);
      await revive(tx, { now: tx.now, rows, ...how });
      return rows.length === revivedAtOnce;
    });
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
