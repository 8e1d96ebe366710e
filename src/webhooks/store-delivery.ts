import { storeSignals } from '../pipeline/commit.ts';
import type { CheckedSignal } from '../pipeline/result.ts';
import { addStatistics, measureReceived } from '../pipeline/statistics.ts';
import type { Ports } from '../platform/ports.ts';
import type { Owner } from '../store/connections.ts';
import type { Transaction } from '../store/database.ts';
import { insertReceivedJobs } from '../store/jobs.ts';

export interface Received {
  connectionId: string;
  signals: readonly CheckedSignal[];
}

/**
 * Each under its own `webhook` job. Locked connections: a signal that polling also finds is stored once.
 * Writes nothing without a new signal.
 */
export async function storeReceived(
  tx: Transaction,
  ports: Ports,
  received: readonly Received[],
  active: ReadonlyMap<string, Owner>,
): Promise<void> {
  const { now } = tx;
  // Inactive: polling finds them later.
  const found = received.flatMap(({ connectionId, signals }) => {
    const row = active.get(connectionId);
    if (!row) return [];
    const { tenant_id: tenantId, provider_slug: providerSlug } = row;
    return [{ job: { id: ports.newId(), tenantId, providerSlug, connectionId }, verdict: { signals } }];
  });
  const counts = await storeSignals(tx, now, found, () => ports.newId());
  const jobs = found
    .map(({ job }) => ({ ...job, signals: counts.get(job.id) ?? 0 }))
    .filter(({ signals }) => signals > 0);
  await insertReceivedJobs(tx, now, jobs);
  await addStatistics(tx, now, ports.random(), measureReceived(jobs));
}
