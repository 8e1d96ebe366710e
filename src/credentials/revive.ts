import type { Doer, Recorder } from '../doer.ts';
import { formatInstant } from '../schedule/instant.ts';
import { activateConnections } from '../store/connections.ts';
import { lockRefusedConnections } from '../store/credentials.ts';
import type { Queryable } from '../store/database.ts';
import { wakeExecutors } from '../store/wake.ts';

/** Few enough that nobody waits long for what is locked. */
export const revivedAtOnce = 200;

interface Revival {
  now: Date;
  /** Locked by the same transaction. */
  ids: readonly string[];
  tenantId: string;
  reason: string;
  record: Recorder;
  doer?: Doer;
}

/** Makes connections active again that waited for another credential, and has it on record why. */
export async function revive(
  tx: Queryable,
  { now, ids, tenantId, reason, record, doer }: Revival,
): Promise<void> {
  if (ids.length === 0) return;
  await activateConnections(tx, now, ids, formatInstant(now.getTime()));
  const events = ids.map((connectionId) => ({ tenantId, connectionId, kind: 'connection.resumed' as const }));
  await record(tx, now, events, { ...doer, reason });
  await wakeExecutors(tx);
}

/** Locks some that wait for it; whoever changes the credential afterwards then holds what it has to in the usual order. */
export const lockWaiting = (tx: Queryable, credentialId: string): Promise<string[]> =>
  lockRefusedConnections(tx, credentialId, revivedAtOnce);
