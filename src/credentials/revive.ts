import type { AuditNote, Recorder } from '../caller/audit.ts';
import { hintPriority, syncAllNow, triggerPriority } from '../pipeline/trigger.ts';
import type { Ports } from '../platform/ports.ts';
import { activateConnections } from '../store/connections.ts';
import { lockRefusedConnections, type WaitingConnection } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { wakeExecutors } from '../store/wake.ts';
import { formatInstant } from '../values/instant.ts';

/** Bounds lock time. */
export const reviveBatch = 200;

interface Revival {
  now: Date;
  rows: readonly WaitingConnection[];
  /** A user authorizes it: higher priority. */
  connectionId?: string | undefined;
  reason: string;
  record: Recorder;
  newId: Ports['newId'];
  note?: AuditNote | undefined;
}

/** Also active ones: `next_run_at` may be an interval away. */
export async function revive(tx: Queryable, revival: Revival): Promise<void> {
  const { now, rows, connectionId, reason, record, newId, note } = revival;
  const waiting = rows.filter(({ status }) => status === 'needs_auth');
  const runnable = rows.filter(({ status }) => status === 'needs_auth' || status === 'active');
  if (runnable.length === 0) return;
  if (waiting.length > 0) {
    const ids = waiting.map(({ id }) => id);
    await activateConnections(tx, now, ids, formatInstant(now.getTime()));
    const events = waiting.map((row) => ({
      ...{ tenantId: row.tenant_id, connectionId: row.id, kind: 'connection.resumed' as const },
    }));
    await record(tx, now, events, { ...note, reason });
  }
  const named = runnable.filter(({ id }) => id === connectionId);
  const others = runnable.filter(({ id }) => id !== connectionId);
  if (named.length > 0) await syncAllNow(tx, named, now, { priority: triggerPriority, newId });
  if (others.length > 0) await syncAllNow(tx, others, now, { priority: hintPriority, newId });
  await wakeExecutors(tx);
}

/** Lock order: connections, then credential. */
export const lockWaiting = (
  tx: Queryable,
  credentialId: string,
  connectionId?: string,
): Promise<WaitingConnection[]> => lockRefusedConnections(tx, credentialId, connectionId, reviveBatch);
