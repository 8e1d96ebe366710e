import type { Ports } from '../platform/ports.ts';
import { availableIn, exchange } from '../schedule/bucket.ts';
import { ensureBudgets, lockBudgets, writeBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import { type Holding, type Outgoing, onItsClock } from './holding.ts';

/** A run waits for this, in its slot: a database that does not answer is better noticed soon. */
const timeoutMs = 5000;
const lockTimeoutMs = 2000;

interface Packed {
  holding: Holding;
  outgoing: Outgoing;
}

/** Brings what holdings have to tell to their buckets, and what they wait for back: one transaction for all of them. */
export async function exchangeAll(
  { db, ports }: { db: Database; ports: Ports },
  holdings: { holding: Holding; givesBack: boolean }[],
): Promise<void> {
  const unknown = holdings.filter(({ holding }) => !holding.isKnown()).map(({ holding }) => holding.budget);
  if (unknown.length > 0) await ensureBudgets(db.within(timeoutMs), ports.databaseTime(), unknown);
  const packed = new Map<string, Packed>();
  for (const { holding, givesBack } of holdings)
    packed.set(holding.budget.key, { holding, outgoing: holding.pack(givesBack) });
  let isDecided = false;
  try {
    const answers = await db.transaction(
      async (tx) => {
        // It may run again: a transaction that lost a race stored nothing.
        isDecided = false;
        const locked = await lockBudgets(tx, ports.databaseTime(), [...packed.keys()]);
        const decided = locked.map(({ key, bucket, nowMs }) => ({
          key,
          nowMs,
          ...exchange(bucket, onItsClock((packed.get(key) as Packed).outgoing, nowMs), nowMs),
        }));
        await writeBudgets(tx, decided);
        isDecided = true;
        return decided;
      },
      { timeoutMs, lockTimeoutMs },
    );
    for (const { key, bucket, granted, nowMs } of answers) {
      const { holding, outgoing } = packed.get(key) as Packed;
      holding.receive(
        {
          atMs: nowMs,
          windowNumber: bucket.windowNumber,
          spent: bucket.spent,
          most: bucket.most,
          available: availableIn(bucket, nowMs),
          granted,
          resetsInMs: bucket.resetsAtMs - nowMs,
          opensInMs: bucket.opensAtMs - nowMs,
        },
        outgoing.sentAtMs,
      );
      packed.delete(key);
    }
    // Deleted meanwhile, because nobody had used it for long: it is made anew when it is next asked.
    for (const { holding } of packed.values()) holding.forget();
  } catch (error) {
    // Before the transaction was to be committed nothing can have been stored; afterwards nobody knows.
    for (const { holding, outgoing } of packed.values()) holding.unpack(outgoing, !isDecided);
    throw error;
  }
}
