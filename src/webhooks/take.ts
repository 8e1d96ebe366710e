import { hintAll } from '../pipeline/trigger.ts';
import type { Ports } from '../platform/ports.ts';
import { lockActive, type Owner } from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { hintedConnections } from '../store/jobs.ts';
import { wakeExecutors } from '../store/wake.ts';
import { held, type Locking } from './locked-batches.ts';
import { senderTimeouts } from './senders.ts';
import { type Received, storeReceived } from './store-delivery.ts';

/** A hint also queues a run. */
export interface Taken extends Received {
  isHint: boolean;
}

/** Merges hints per connection; a pending one costs no lock or write. No audit: too many. */
export async function takeAll(
  { db, ports }: { db: Database; ports: Ports },
  taken: readonly Taken[],
  locking: Locking,
): Promise<(undefined | typeof held)[]> {
  const pending = await pendingHints(db, taken);
  const isNewHint = ({ isHint, connectionId }: Taken) => isHint && !pending.has(connectionId);
  const rest = new Set(taken.filter((delivery) => delivery.signals.length > 0 || isNewHint(delivery)));
  if (rest.size === 0) return taken.map(() => undefined);
  const done = await db.transaction(async (tx) => {
    const { active, locked } = await lockActive(tx, idsOf([...rest]), locking);
    await placeHints(tx, ports, [...rest].filter(isNewHint), active);
    // Last: its row locks block other transactions.
    const received = [...rest].filter(({ signals }) => signals.length > 0);
    if (received.length > 0) await storeReceived(tx, ports, received, active);
    return locked;
  }, senderTimeouts);
  return taken.map((delivery) => (rest.has(delivery) && !done.has(delivery.connectionId) ? held : undefined));
}

async function pendingHints(db: Database, taken: readonly Taken[]): Promise<ReadonlySet<string>> {
  const ids = idsOf(taken.filter(({ isHint }) => isHint));
  if (ids.length === 0) return new Set();
  return hintedConnections(db.within(senderTimeouts.timeoutMs), ids, await db.now());
}

/** Inactive connections sync on activation. */
async function placeHints(
  tx: Transaction,
  ports: Ports,
  hints: readonly Taken[],
  active: ReadonlyMap<string, Owner>,
): Promise<void> {
  const rows = idsOf(hints).flatMap((id) => active.get(id) ?? []);
  if (rows.length === 0) return;
  await hintAll(tx, rows, tx.now, () => ports.newId());
  await wakeExecutors(tx);
}

const idsOf = (taken: readonly Taken[]) => [...new Set(taken.map(({ connectionId }) => connectionId))];
