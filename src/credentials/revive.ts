import type { AuditNote, Recorder } from '../caller/audit.ts';
import { hintPriority, syncAllNow, triggerPriority } from '../pipeline/trigger.ts';
import type { Ports } from '../platform/ports.ts';
import { formatInstant } from '../schedule/instant.ts';
import { activateConnections } from '../store/connections.ts';
import { lockRefusedConnections, type WaitingConnection } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { wakeExecutors } from '../store/wake.ts';

/** Few enough that nobody waits long for what is locked. */
export const revivedAtOnce = 200;

interface Revival {
  now: Date;
  /** Locked by the same transaction. */
  rows: readonly WaitingConnection[];
  /** The one that a person is connecting: its run comes first. */
  connectionId?: string | undefined;
  reason: string;
  record: Recorder;
  newId: Ports['newId'];
  doer?: AuditNote | undefined;
}

/**
 * Makes connections active again that waited for another credential, records why, and queues a run of each: their schedule
 * may be an interval away. One that is active already gets the run alone; a paused or disabled one gets nothing.
 */
export async function revive(tx: Queryable, revival: Revival): Promise<void> {
  const { now, rows, connectionId, reason, record, newId, doer } = revival;
  const waiting = rows.filter(({ status }) => status === 'needs_auth');
  const runnable = rows.filter(({ status }) => status === 'needs_auth' || status === 'active');
  if (runnable.length === 0) return;
  if (waiting.length > 0) {
    const ids = waiting.map(({ id }) => id);
    await activateConnections(tx, now, ids, formatInstant(now.getTime()));
    const events = waiting.map((row) => ({
      ...{ tenantId: row.tenant_id, connectionId: row.id, kind: 'connection.resumed' as const },
    }));
    await record(tx, now, events, { ...doer, reason });
  }
  const named = runnable.filter(({ id }) => id === connectionId);
  const others = runnable.filter(({ id }) => id !== connectionId);
  if (named.length > 0) await syncAllNow(tx, named, now, { priority: triggerPriority, newId });
  if (others.length > 0) await syncAllNow(tx, others, now, { priority: hintPriority, newId });
  await wakeExecutors(tx);
}

/** Locks some that wait for it, before the credential is locked: that is the lock order. */
export const lockWaiting = (
  tx: Queryable,
  credentialId: string,
  connectionId?: string,
): Promise<WaitingConnection[]> => lockRefusedConnections(tx, credentialId, connectionId, revivedAtOnce);
