import type { Budget, Budgets, BudgetUse, Taken } from '../contract/budget.ts';
import { describeError, PermanentError, TransientError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { exchangeAll } from './exchange.ts';
import { createHolding, type Holding } from './holding.ts';
import { budgetOf, weightOf } from './place.ts';
import { usedUp } from './used-up.ts';

export interface BudgetKeeper {
  forRun(job: ClaimedJob): Budgets;
  stop(): Promise<void>;
}

export interface KeeperOptions {
  db: Database;
  ports: Ports;
  telemetry: Pick<Telemetry, 'roundFailed'>;
  explain: (error: unknown) => unknown;
}

/** Bounds lock time. */
const maxPerTransaction = 200;
/** 1 kB each; above, idle ones are dropped. */
const maxHoldings = 10_000;

interface Share {
  holding: Holding;
  weight: number;
}

/**
 * Leases tokens in blocks, spent from memory. One transaction at a time serves all buckets; an idle process
 * sends nothing.
 */
export function createBudgetKeeper({ db, ports, telemetry, explain }: KeeperOptions): BudgetKeeper {
  const holdings = new Map<string, Holding>();
  /** With waiting callers. */
  const requested = new Set<Holding>();
  let nextRefill: Promise<void> | undefined;
  let lastExchange: Promise<void> = Promise.resolve();
  let isQuiet = true;

  function holdingOf(job: ClaimedJob, budget: Budget): Holding {
    const row = budgetOf(job, budget);
    const existing = holdings.get(row.key);
    if (existing) {
      existing.restate(row);
      return existing;
    }
    if (holdings.size >= maxHoldings) dropIdle();
    const holding = createHolding(row, ports);
    holdings.set(row.key, holding);
    return holding;
  }

  function dropIdle(): void {
    for (const [key, holding] of holdings)
      if (holding.isIdle() && holding.nextReportInMs() === undefined) holdings.delete(key);
  }

  /** Concurrent callers share one transaction. */
  function refill(): Promise<void> {
    nextRefill ??= lastExchange.then(() => {
      nextRefill = undefined;
      const round = exchangeRequested();
      lastExchange = round.catch(() => {});
      return round;
    });
    return nextRefill;
  }

  async function exchangeRequested(): Promise<void> {
    const pending = [...requested].map((holding) => ({ holding, returnsTokens: false }));
    requested.clear();
    await exchangeInChunks(pending);
  }

  async function exchangeInChunks(pending: { holding: Holding; returnsTokens: boolean }[]): Promise<void> {
    for (let i = 0; i < pending.length; i += maxPerTransaction)
      await exchangeAll({ db, ports }, pending.slice(i, i + maxPerTransaction));
  }

  async function take(job: ClaimedJob, uses: readonly BudgetUse[]): Promise<Taken> {
    const shares = sharesOf(job, uses);
    for (;;) {
      // No await before spend(): takes all shares or none.
      const missing = shares.filter(({ holding, weight }) => holding.spendable() < weight);
      if (missing.length === 0) return spend(shares);
      for (const { holding, weight } of missing) requirePossible(holding, weight);
      const short = missing.filter(({ holding, weight }) => holding.isShortOf(weight));
      if (short.length > 0) throw usedUp(short[0]?.holding as Holding, maxOpensInMs(short), ports);
      for (const { holding, weight } of missing) {
        holding.addDemand(weight);
        requested.add(holding);
      }
      await refill().catch((error: unknown) => {
        throw new TransientError(`Budgets are unavailable: ${describeError(explain(error))}`, {
          cause: error,
        });
      });
    }
  }

  function sharesOf(job: ClaimedJob, uses: readonly BudgetUse[]): Share[] {
    const shares = new Map<Holding, number>();
    for (const use of uses) {
      const holding = holdingOf(job, use.budget);
      shares.set(holding, (shares.get(holding) ?? 0) + weightOf(use));
    }
    return [...shares].map(([holding, weight]) => ({ holding, weight }));
  }

  function spend(shares: Share[]): Taken {
    const spent = shares.map(({ holding, weight }) => ({ holding, spending: holding.spend(weight) }));
    expectReport();
    return {
      settle: ({ free = false } = {}) => {
        for (const { holding, spending } of spent) holding.settle(spending, free);
        expectReport();
      },
    };
  }

  const nextReportInMs = () => {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const holding of holdings.values())
      soonestMs = Math.min(soonestMs, holding.nextReportInMs() ?? soonestMs);
    return soonestMs;
  };

  /** Returns idle tokens, reports the provider's values. */
  const reports = startLoop({
    ports,
    runOnce: async () => {
      if (nextReportInMs() === 0) await reportDue();
      const inMs = nextReportInMs();
      isQuiet = inMs === Number.POSITIVE_INFINITY;
      return inMs;
    },
    onFailure: (error, retryMs) => telemetry.roundFailed('budgets', error, retryMs),
  });

  function expectReport(): void {
    if (!isQuiet) return;
    isQuiet = false;
    reports.wake();
  }

  /** Parallel exchanges would wait for each other's row locks. */
  function serialise(work: () => Promise<void>): Promise<void> {
    const round = lastExchange.then(work);
    lastExchange = round.catch(() => {});
    return round;
  }

  function reportDue(): Promise<void> {
    return serialise(async () => {
      const due = [...holdings.values()].filter((holding) => holding.nextReportInMs() === 0);
      await exchangeInChunks(due.map((holding) => ({ holding, returnsTokens: holding.isIdle() })));
    });
  }

  async function stop(): Promise<void> {
    await reports.stop();
    const left = [...holdings.values()].filter((holding) => holding.nextReportInMs() !== undefined);
    const returns = left.map((holding) => ({ holding, returnsTokens: true }));
    // If this fails, they are unavailable until the window ends.
    await serialise(() => exchangeInChunks(returns)).catch(() => {});
  }

  return {
    forRun: (job) => ({
      take: (uses) => take(job, uses),
      learn: (budget, news) => {
        const holding = holdingOf(job, budget);
        holding.learn(news);
        if (holding.nextReportInMs() === 0) reports.wake();
        expectReport();
      },
    }),
    stop,
  };
}

const maxOpensInMs = (shares: Share[]) => Math.max(...shares.map(({ holding }) => holding.opensInMs()));

function requirePossible(holding: Holding, weight: number): void {
  const { provider, name } = holding.budget;
  if (weight > holding.limit())
    throw new PermanentError(
      `weight must be at most ${holding.limit()}, the limit of the budget ${provider}/${name}, ` +
        `got ${weight}. Split the request, or correct the budget's limit.`,
    );
}
