import type { Connector } from '../connector.ts';
import { addStatistics, storeSignals } from '../pipeline/commit.ts';
import { measureReceived } from '../pipeline/measure.ts';
import { checkResult } from '../pipeline/page.ts';
import type { Ports } from '../ports.ts';
import { lockConnection } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { insertReceivedJob } from '../store/jobs.ts';
import { sendersPatience } from './senders.ts';

export interface Received {
  connectionId: string;
  connector: Connector;
  signals: readonly unknown[];
}

/**
 * Stores what came by itself, by the rules of a page that was fetched, and under a job of its own that says so. The
 * connection is locked as by the commit of a run: of a signal that comes both ways, one is stored, whoever is first. What
 * brings nothing new leaves no trace, so that it may be sent as often as anybody likes.
 */
export async function storeReceived(
  { db, ports }: { db: Database; ports: Ports },
  { connectionId, connector, signals }: Received,
): Promise<number> {
  const page = await checkResult({ signals }, connector);
  if (page.signals.length === 0) return 0;
  return db.transaction(async (tx) => {
    const row = await lockConnection(tx, connectionId);
    // Nothing is stored for what is not active: polling finds it again, under the same key.
    if (row?.status !== 'active') return 0;
    const now = new Date(ports.now());
    const { tenant_id: tenantId, provider_slug: providerSlug } = row;
    const job = { id: ports.newId(), tenantId, providerSlug, connectionId };
    const stored = await storeSignals(tx, now, [{ job, verdict: page }], () => ports.newId());
    const count = stored.get(job.id) ?? 0;
    if (count === 0) return 0;
    await insertReceivedJob(tx, now, { ...job, signals: count });
    await addStatistics(tx, now, ports.random(), measureReceived(tenantId, providerSlug, count));
    return count;
  }, sendersPatience);
}
