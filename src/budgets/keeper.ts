import type { Budget, Budgets, BudgetUse, Taken } from '../contract/budget.ts';
import { describeError, PermanentError, TransientError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import type { Ports } from '../platform/ports.ts';
import { retryDelayMs } from '../platform/retry.ts';
import type { Database } from '../store/database.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { exchangeAll } from './exchange.ts';
import { createHolding, type Holding } from './holding.ts';
import { budgetOf, weightOf } from './place.ts';
import { usedUp } from './used-up.ts';

export interface BudgetKeeper {
  forRun(job: ClaimedJob): Budgets;
  /** Gives back what is left. */
  stop(): Promise<void>;
}

export interface KeeperOptions {
  db: Database;
  ports: Ports;
  telemetry: Pick<Telemetry, 'roundFailed'>;
  explain: (error: unknown) => unknown;
}

/** Buckets locked by one transaction, so that none is held for long. */
const maxAtOnce = 200;
/** Buckets that are remembered though nothing is left of them here; about a kilobyte each. */
const maxRemembered = 10_000;

interface Share {
  holding: Holding;
  weight: number;
}

/**
 * Keeps this process's share of the fleet's budgets. Tokens come in blocks and are spent from memory; one transaction at a
 * time fetches more for all buckets that need some, and tells what became of the last ones. While nobody takes, nothing is
 * asked.
 */
export function createBudgetKeeper({ db, ports, telemetry, explain }: KeeperOptions): BudgetKeeper {
  const holdings = new Map<string, Holding>();
  /** Those that somebody waits for. */
  const wanted = new Set<Holding>();
  const stopping = new AbortController();
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();
  let watching: Promise<void> | undefined;
  let pause = new AbortController();

  function holdingOf(job: ClaimedJob, budget: Budget): Holding {
    const made = budgetOf(job, budget);
    const known = holdings.get(made.key);
    if (known) {
      known.restate(made);
      return known;
    }
    if (holdings.size >= maxRemembered) forgetIdle();
    const holding = createHolding(made, ports);
    holdings.set(made.key, holding);
    return holding;
  }

  function forgetIdle(): void {
    for (const [key, holding] of holdings)
      if (holding.isIdle() && holding.tellsInMs() === undefined) holdings.delete(key);
  }

  /** Everybody who waits at the same time waits for the same transaction; whoever comes while it runs, for the next. */
  function refill(): Promise<void> {
    next ??= last.then(() => {
      next = undefined;
      const round = fetchWanted();
      last = round.catch(() => {});
      return round;
    });
    return next;
  }

  async function fetchWanted(): Promise<void> {
    const asking = [...wanted].map((holding) => ({ holding, givesBack: false }));
    wanted.clear();
    await inChunks(asking);
  }

  async function inChunks(asking: { holding: Holding; givesBack: boolean }[]): Promise<void> {
    for (let i = 0; i < asking.length; i += maxAtOnce)
      await exchangeAll({ db, ports }, asking.slice(i, i + maxAtOnce));
  }

  async function take(job: ClaimedJob, uses: readonly BudgetUse[]): Promise<Taken> {
    const shares = sharesOf(job, uses);
    for (;;) {
      // Nothing is waited for between this look and what is spent, so all of it is taken or nothing.
      const missing = shares.filter(({ holding, weight }) => holding.spendable() < weight);
      if (missing.length === 0) return spend(shares);
      for (const { holding, weight } of missing) requirePossible(holding, weight);
      const short = missing.filter(({ holding, weight }) => holding.isShortOf(weight));
      if (short.length > 0) throw usedUp(short[0]?.holding as Holding, longest(short), ports);
      for (const { holding, weight } of missing) {
        holding.wants(weight);
        wanted.add(holding);
      }
      await refill().catch((error: unknown) => {
        throw new TransientError(`The budgets cannot be asked: ${describeError(explain(error))}`, {
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
    watch();
    return {
      settle: ({ free = false } = {}) => {
        for (const { holding, spending } of spent) holding.settle(spending, free);
        watch();
      },
    };
  }

  const tellsInMs = () => {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const holding of holdings.values())
      soonestMs = Math.min(soonestMs, holding.tellsInMs() ?? soonestMs);
    return soonestMs;
  };

  /** Runs while there is something to tell: what lies idle goes back, and news are passed on. */
  function watch(): void {
    if (stopping.signal.aborted) return;
    watching ??= watchOver().finally(() => {
      watching = undefined;
    });
  }

  async function watchOver(): Promise<void> {
    let failures = 0;
    for (let inMs = tellsInMs(); Number.isFinite(inMs) && !stopping.signal.aborted; inMs = tellsInMs()) {
      pause = new AbortController();
      if (inMs > 0) await ports.sleep(inMs, pause.signal);
      if (stopping.signal.aborted) return;
      try {
        await tellDue();
        failures = 0;
      } catch (error) {
        const retryMs = retryDelayMs(failures++, ports.random());
        telemetry.roundFailed('budgets', error, retryMs);
        await ports.sleep(retryMs, stopping.signal);
      }
    }
  }

  /** After what is under way, and before anything else: two transactions at once would only wait for each other. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const round = last.then(work);
    last = round.catch(() => {});
    return round;
  }

  const tellDue = () =>
    inTurn(async () => {
      const due = [...holdings.values()].filter((holding) => holding.tellsInMs() === 0);
      await inChunks(due.map((holding) => ({ holding, givesBack: holding.isIdle() })));
    });

  async function stop(): Promise<void> {
    stopping.abort();
    pause.abort();
    await watching;
    const left = [...holdings.values()].filter((holding) => holding.tellsInMs() !== undefined);
    // What cannot be given back is lost until the window is over, and no longer.
    await inTurn(() => inChunks(left.map((holding) => ({ holding, givesBack: true })))).catch(() => {});
  }

  return {
    forRun: (job) => ({
      take: (uses) => take(job, uses),
      learn: (budget, news) => {
        const holding = holdingOf(job, budget);
        holding.learn(news);
        if (holding.tellsInMs() === 0) pause.abort();
        watch();
      },
    }),
    stop,
  };
}

const longest = (shares: Share[]) => Math.max(...shares.map(({ holding }) => holding.opensInMs()));

function requirePossible(holding: Holding, weight: number): void {
  if (weight > holding.most())
    throw new PermanentError(
      `A request that costs ${weight} is more than the budget ${holding.budget.provider}/${holding.budget.name} ever has, which is ${holding.most()}. Ask for less at once, or correct the budget's limit.`,
    );
}
