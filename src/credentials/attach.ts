import type { AuditNote, Recorder } from '../caller/audit.ts';
import { changeConnection, existingConnection } from '../caller/connection-access.ts';
import { invalidArgument } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import type { ConnectionRow } from '../store/connections.ts';
import {
  type CredentialRow,
  deleteCredential,
  findCredential,
  writeConnectionCredential,
} from '../store/credentials.ts';
import type { Database, Queryable } from '../store/database.ts';
import { notFound, requireUuid } from '../values/arguments.ts';
import { detailOf } from './change.ts';
import { revive } from './revive.ts';

/** A better error than the foreign key's. */
export async function requireCredential(
  tx: Queryable,
  id: string,
  { tenantId, provider }: { tenantId: string; provider: string },
): Promise<CredentialRow> {
  requireUuid('credentialId', id);
  // Prevents deletion before the reference exists.
  const row = await findCredential(tx, id, 'FOR KEY SHARE OF c');
  if (!row) throw notFound(`credential ${id}`);
  if (row.tenant_id !== tenantId.toLowerCase())
    throw invalidArgument({
      field: 'credentialId',
      expected: 'a credential of the same tenant as the connection',
      value: id,
    });
  if (row.provider_slug !== provider)
    throw invalidArgument({
      field: 'credentialId',
      expected: `a credential for "${provider}"`,
      value: `${id}, which is one for "${row.provider_slug}"`,
    });
  return row;
}

export async function changeCredential(
  { db, ports, record }: { db: Database; ports: Ports; record: Recorder },
  connectionId: string,
  credentialId: string | null,
  note: AuditNote,
): Promise<ConnectionRow> {
  if (credentialId !== null) requireUuid('credentialId', credentialId);
  return changeConnection({ db }, connectionId, async (tx, row, now) => {
    const { tenant_id: tenantId, provider_slug: provider, credential_id: from } = row;
    if (credentialId !== null) await requireCredential(tx, credentialId, { tenantId, provider });
    const subject = { tenantId, connectionId };
    if (from !== credentialId) {
      await writeConnectionCredential(tx, now, connectionId, credentialId);
      const detail = { from, to: credentialId };
      await record(tx, now, { ...subject, kind: 'connection.credential_changed', detail }, note);
    }
    if (credentialId !== null && row.status === 'needs_auth') {
      const reason = from === null ? 'it has a credential' : 'it has another credential';
      const newId = () => ports.newId();
      await revive(tx, { now, rows: [row], connectionId, reason, record, newId, note });
    }
    return existingConnection(tx, connectionId);
  });
}

/** After the last connection is removed. */
export async function removeUnused(
  { record, doer: note }: { record: Recorder; doer: AuditNote },
  tx: Queryable,
  now: Date,
  id: string,
): Promise<void> {
  // Locks first: the second snapshot sees a connection attached meanwhile.
  if (!(await findCredential(tx, id, 'FOR UPDATE OF c'))) return;
  const row = await findCredential(tx, id);
  if (!row || row.connections > 0) return;
  await deleteCredential(tx, id);
  const event = { tenantId: row.tenant_id, kind: 'credential.deleted' as const, detail: detailOf(row) };
  await record(tx, now, event, { ...note, reason: 'the only connection that used it was deleted' });
}
