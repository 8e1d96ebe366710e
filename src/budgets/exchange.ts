import type { Ports } from '../platform/ports.ts';
import { availableIn, type Exchange, exchange } from '../schedule/bucket.ts';
import { ensureBudgets, lockBudgets, writeBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import type { Holding } from './holding.ts';
import type { Outgoing } from './holding-state.ts';

/** Short: a run waits in its slot. */
const timeoutMs = 5000;
const lockTimeoutMs = 2000;

interface PackedReport {
  holding: Holding;
  outgoing: Outgoing;
}

/** One transaction for all holdings. */
export async function exchangeAll(
  { db, ports }: { db: Database; ports: Ports },
  holdings: { holding: Holding; returnsTokens: boolean }[],
): Promise<void> {
  const unknown = holdings.filter(({ holding }) => !holding.isKnown()).map(({ holding }) => holding.budget);
  if (unknown.length > 0) await ensureBudgets(db.within(timeoutMs), ports.databaseTime(), unknown);
  const packed = new Map<string, PackedReport>();
  for (const { holding, returnsTokens } of holdings)
    packed.set(holding.budget.key, { holding, outgoing: holding.pack(returnsTokens) });
  let isDecided = false;
  try {
    const answers = await db.transaction(
      async (tx) => {
        // Transactions may retry.
        isDecided = false;
        const locked = await lockBudgets(tx, ports.databaseTime(), [...packed.keys()]);
        const decided = locked.map(({ key, bucket, nowMs }) => ({
          key,
          nowMs,
          ...exchange(bucket, onDatabaseClock((packed.get(key) as PackedReport).outgoing, nowMs), nowMs),
        }));
        await writeBudgets(tx, decided);
        isDecided = true;
        return decided;
      },
      { timeoutMs, lockTimeoutMs },
    );
    for (const { key, bucket, granted, nowMs } of answers) {
      const { holding, outgoing } = packed.get(key) as PackedReport;
      holding.receive(
        {
          atMs: nowMs,
          windowNumber: bucket.windowNumber,
          spent: bucket.spent,
          limit: bucket.limit,
          available: availableIn(bucket, nowMs),
          granted,
          resetsInMs: bucket.resetsAtMs - nowMs,
          opensInMs: bucket.opensAtMs - nowMs,
        },
        outgoing.sentAtMs,
      );
      packed.delete(key);
    }
    // The janitor deletes unused rows; the next exchange recreates them.
    for (const { holding } of packed.values()) holding.forget();
  } catch (error) {
    // Before COMMIT nothing is stored; afterwards the outcome is unknown.
    for (const { holding, outgoing } of packed.values()) holding.unpack(outgoing, !isDecided);
    throw error;
  }
}

/** As of arrival: no end is too early. */
export function onDatabaseClock({ sentAtMs, returns, observed, ...rest }: Outgoing, nowMs: number): Exchange {
  const shiftMs = nowMs - sentAtMs;
  const shifted = (ms: number | undefined) => (ms === undefined ? undefined : ms + shiftMs);
  return {
    ...rest,
    returns: returns.map((report) => ({
      ...report,
      endsAtMs: report.endsAtMs + shiftMs,
      firstAnsweredAtMs: shifted(report.firstAnsweredAtMs),
    })),
    observed: observed && {
      ...observed,
      resetsAtMs: shifted(observed.resetsAtMs),
    },
  };
}
