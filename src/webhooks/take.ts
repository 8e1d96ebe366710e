import { hintAll } from '../pipeline/trigger.ts';
import type { Ports } from '../platform/ports.ts';
import { lockActive, type Owner } from '../store/connections.ts';
import type { Database, Transaction } from '../store/database.ts';
import { hintedConnections } from '../store/jobs.ts';
import { wakeExecutors } from '../store/wake.ts';
import { type Received, storeReceived } from './direct.ts';
import { held, type Locking } from './locked-batches.ts';
import { sendersPatience } from './senders.ts';

/** What becomes of a delivery: its signals are stored, and a run begins after it if it is a hint. */
export interface Taken extends Received {
  isHint: boolean;
}

/**
 * Takes the deliveries of many connections in one transaction. Hints of a connection are one, and where an earlier one still stands,
 * nothing is locked or written for it. No event is recorded: what people did would drown in them.
 */
export async function takeAll(
  { db, ports }: { db: Database; ports: Ports },
  taken: readonly Taken[],
  locking: Locking,
): Promise<(undefined | typeof held)[]> {
  const standing = await hintsStanding(db, taken);
  const isNewHint = ({ isHint, connectionId }: Taken) => isHint && !standing.has(connectionId);
  const rest = new Set(taken.filter((one) => one.signals.length > 0 || isNewHint(one)));
  if (rest.size === 0) return taken.map(() => undefined);
  const done = await db.transaction(async (tx) => {
    const { active, locked } = await lockActive(tx, idsOf([...rest]), locking);
    await placeHints(tx, ports, [...rest].filter(isNewHint), active);
    // Last, since it ends with the statistics, which other transactions wait for.
    const received = [...rest].filter(({ signals }) => signals.length > 0);
    if (received.length > 0) await storeReceived(tx, ports, received, active);
    return locked;
  }, sendersPatience);
  return taken.map((one) => (rest.has(one) && !done.has(one.connectionId) ? held : undefined));
}

async function hintsStanding(db: Database, taken: readonly Taken[]): Promise<ReadonlySet<string>> {
  const ids = idsOf(taken.filter(({ isHint }) => isHint));
  if (ids.length === 0) return new Set();
  return hintedConnections(db.within(sendersPatience.timeoutMs), ids, await db.now());
}

/** What is not active syncs when it is again; what is gone has nothing to sync. */
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
