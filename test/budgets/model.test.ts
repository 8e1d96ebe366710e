import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onDatabaseClock } from '../../src/budgets/exchange.ts';
import { createHolding, type Holding } from '../../src/budgets/holding.ts';
import type { Outgoing } from '../../src/budgets/holding-state.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { availableIn, type Bucket, exchange, newBucket } from '../../src/schedule/bucket.ts';
import { sized } from '../support/size.ts';
import { testBudget } from './test-budget.ts';

interface Scenario {
  seed: number;
  limit: number;
  periodSeconds: number;
  processes: number;
  /** Offset of the start within the provider's window; undefined: a window starts with the first request. */
  alignedByMs: number | undefined;
  /** Attempted requests per allowed request. */
  eagerness: number;
  /** Deaths per 10,000 turns. */
  deaths: number;
  /** Percentage of lost bucket responses. */
  losses: number;
}

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.integer(),
  limit: fc.integer({ min: 1, max: 400 }),
  periodSeconds: fc.constantFrom(1, 10, 60, 600),
  processes: fc.integer({ min: 1, max: 5 }),
  alignedByMs: fc.option(fc.integer({ min: 0, max: 599_999 }), { nil: undefined }),
  eagerness: fc.constantFrom(0.5, 2, 5),
  deaths: fc.constantFrom(0, 1),
  losses: fc.constantFrom(0, 2),
});

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Simulates processes, bucket and provider with random latencies; returns the requests per window. */
function simulate(scenario: Scenario): number[] {
  const random = randomOf(scenario.seed);
  const periodMs = scenario.periodSeconds * 1000;
  /** Maximum latency. A request that takes a whole window to arrive cannot be accounted for. */
  const slowMs = periodMs / 8;
  let nowMs = 1_700_000_000_000;
  const startMs = nowMs;
  const events: { atMs: number; run: () => void }[] = [];
  const after = (ms: number, run: () => void) => void events.push({ atMs: nowMs + ms, run });
  const afterLatency = (run: () => void) => after(random() ** 4 * slowMs, run);

  const windows: number[] = [];
  let endsAtMs = 0;
  /** As a client computes it from headers in whole seconds; exact for short windows. */
  const resetsInSeconds = () =>
    scenario.periodSeconds < 60
      ? (endsAtMs - nowMs) / 1000
      : Math.floor(endsAtMs / 1000) - Math.floor(nowMs / 1000);
  function provider() {
    if (nowMs >= endsAtMs) {
      const sinceMs =
        scenario.alignedByMs === undefined ? 0 : (nowMs - startMs + scenario.alignedByMs) % periodMs;
      endsAtMs = nowMs - sinceMs + periodMs;
      windows.push(0);
    }
    const used = (windows.pop() as number) + 1;
    windows.push(used);
    return {
      limit: scenario.limit,
      remaining: Math.max(0, scenario.limit - used),
      resetsInSeconds: resetsInSeconds(),
    };
  }

  let bucket: Bucket = newBucket(scenario.limit, scenario.periodSeconds, nowMs);
  const budget = testBudget(scenario.limit, scenario.periodSeconds);
  /** Each process has its own monotonic clock. */
  const portsOf = (offsetMs: number) => ({ ...systemPorts, monotonicMs: () => nowMs - startMs + offsetMs });

  function startProcess(): void {
    const ports = portsOf(random() * 1e6);
    const holding: Holding = createHolding(budget, ports);
    let isAlive = true;
    let isExchanging = false;

    function exchangeTokens(givesBack: boolean): void {
      if (isExchanging) return;
      isExchanging = true;
      const outgoing = holding.pack(givesBack);
      afterLatency(() => {
        const granted = decide(outgoing);
        const dbNowMs = nowMs;
        const { windowNumber, spent, limit } = bucket;
        const facts = {
          atMs: nowMs,
          windowNumber,
          spent,
          limit,
          available: availableIn(bucket, nowMs),
          granted,
        };
        const times = { resetsInMs: bucket.resetsAtMs - dbNowMs, opensInMs: bucket.opensAtMs - dbNowMs };
        afterLatency(() => {
          isExchanging = false;
          if (!isAlive) return;
          if (random() * 100 < scenario.losses) holding.unpack(outgoing, false);
          else holding.receive({ ...facts, ...times }, outgoing.sentAtMs);
        });
      });
    }

    function decide(outgoing: Outgoing): number {
      const { granted, ...decided } = exchange(bucket, onDatabaseClock(outgoing, nowMs), nowMs);
      bucket = decided.bucket;
      return granted;
    }

    function request(): void {
      if (!isAlive) return;
      if (holding.spendable() < 1) {
        if (holding.isShortOf(1)) return;
        holding.addDemand(1);
        exchangeTokens(false);
        return;
      }
      const spending = holding.spend(1);
      afterLatency(() => {
        const limits = provider();
        afterLatency(() => {
          if (!isAlive) return;
          holding.settle(spending, false);
          holding.learn(limits);
        });
      });
    }

    function turn(): void {
      if (!isAlive) return;
      request();
      if (holding.nextReportInMs() === 0) exchangeTokens(holding.isIdle());
      if (random() * 10_000 < scenario.deaths) {
        isAlive = false;
        startProcess();
        return;
      }
      const pauseMs = (2 * random() * periodMs * scenario.processes) / (scenario.limit * scenario.eagerness);
      after(random() < 0.02 ? pauseMs * 30 : pauseMs, turn);
    }
    turn();
  }

  for (let i = 0; i < scenario.processes; i++) startProcess();
  while (nowMs < startMs + 6 * periodMs) {
    let first = 0;
    for (let i = 1; i < events.length; i++)
      if ((events[i]?.atMs ?? 0) < (events[first]?.atMs ?? 0)) first = i;
    const [event] = events.splice(first, 1);
    if (!event) break;
    nowMs = event.atMs;
    event.run();
  }
  return windows;
}

describe('budgets: random scenarios', () => {
  it('budgets: no window of the provider exceeds its limit', () => {
    // A fixed seed; change it, or raise numRuns, to search further.
    fc.assert(
      fc.property(scenarios, (scenario) => {
        expect(Math.max(...simulate(scenario))).toBeLessThanOrEqual(scenario.limit);
      }),
      { numRuns: sized(300, 100), seed: 20_250_101 },
    );
  });
});
