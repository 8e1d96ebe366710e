import type { Ports } from '../platform/ports.ts';
import { enableTriggers, type Queryable } from '../store/database.ts';
import { insertEvents } from '../store/events.ts';
import { keptActive, refuseConnections } from '../store/settlements.ts';
import { wakeExecutors } from '../store/wake.ts';
import type { Settlement } from './commit.ts';
import { hintPriority, syncAllNow } from './trigger.ts';

type Context = Pick<Ports, 'newId' | 'now'>;

/** EXE-8. Returns the number of runs queued for replaced credentials. */
export async function markUnauthorized(
  ports: Context,
  tx: Queryable,
  now: Date,
  settlements: Settlement[],
): Promise<number> {
  const refused = settlements.filter(({ verdict }) => verdict.needsAuth);
  if (refused.length === 0) return 0;
  const runs = refused.map(({ job: { connectionId, connection, startedAt } }) => ({
    connectionId,
    credentialId: connection.credentialId ?? null,
    startedAt,
  }));
  const changed = await refuseConnections(tx, now, runs);
  const isChanged = ({ job }: Settlement) => changed.has(job.connectionId);
  const events = refused.filter(isChanged).map((settlement) => needsAuthEvent(settlement, ports.newId()));
  await insertEvents(tx, now, events);
  const kept = refused.filter((settlement) => !isChanged(settlement));
  return runAgain(ports, tx, now, kept);
}

const needsAuthEvent = ({ job, verdict }: Settlement, id: string) => ({
  id,
  tenantId: job.tenantId,
  connectionId: job.connectionId,
  jobId: job.id,
  kind: 'connection.needs_auth' as const,
  detail: null,
  actor: 'syncline',
  keyId: null,
  reason: verdict.error?.message ?? null,
});

/**
 * The replacement found an active connection and queued no run. Cannot loop: the next run starts after the
 * replacement, and sets `needs_auth` if it is refused.
 */
async function runAgain(ports: Context, tx: Queryable, now: Date, kept: Settlement[]): Promise<number> {
  if (kept.length === 0) return 0;
  // Not `now`: the replacement may have committed since BEGIN.
  const rows = await keptActive(
    tx,
    new Date(ports.now()),
    kept.map(({ job }) => job.connectionId),
  );
  if (rows.length === 0) return 0;
  await enableTriggers(tx);
  await syncAllNow(tx, rows, now, { priority: hintPriority, newId: () => ports.newId() });
  await wakeExecutors(tx);
  return rows.length;
}
