import type { Ports } from '../platform/ports.ts';

/** DB-6: the database's clock, as this process last read it. */
export interface DatabaseClock {
  /** Milliseconds since 1970; carried forward from the last reading by the monotonic clock. */
  nowMs(): number;
  /** Whether the last reading is recent enough to be carried forward. */
  isFresh(): boolean;
  /** Runs a query that reads the clock, and returns its reading. A virtual clock in `ports` takes its place. */
  reading(query: () => Promise<number>): Promise<Date>;
  /** How far this process's clock is ahead of the database's, by the last reading; negative: behind. */
  skewSeconds(): number;
}

/** Longer, and a step of the database's clock would go unnoticed for too long. */
const maxCarriedMs = 60_000;
/** NTP keeps clocks within milliseconds; half a minute is a broken one. */
export const maxSkewMs = 30_000;
const maxStored = 2 ** 31 - 1;
/** A clock that stays wrong is logged again after this long. */
const skewLoggedEveryMs = 600_000;

/** For a SELECT that reads the clock: a number, so that no DateStyle matters, and qualified, so that no search_path does. */
export const clockColumn =
  "pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000) AS now_ms";

export interface ClockRow {
  now_ms: number;
}

/** Sends a statement, at the moment in which it really goes out. */
export type Sending = (send: () => Promise<ClockRow[]>) => Promise<ClockRow[]>;

/** The time by a statement that selects `clockColumn`. `run` sends it through the function that it is given. */
export async function readClock(
  clock: DatabaseClock,
  run: (sending: Sending) => Promise<unknown>,
): Promise<Date> {
  let now = new Date(Number.NaN);
  await run(async (send) => {
    let rows: ClockRow[] = [];
    now = await clock.reading(async () => {
      rows = await send();
      return rows[0]?.now_ms ?? Number.NaN;
    });
    return rows;
  });
  return now;
}

export function createDatabaseClock(
  ports: Pick<Ports, 'now' | 'monotonicMs' | 'databaseTime'>,
  onSkew: (skewMs: number) => void,
): DatabaseClock {
  let last: { timeMs: number; monotonicMs: number } | undefined;
  let skewMs = 0;
  let loggedMs = Number.NEGATIVE_INFINITY;

  function compare(timeMs: number, before: number, after: number): void {
    // Only what the round trip cannot explain: the database read its clock between the two.
    skewMs = Math.round(before > timeMs ? before - timeMs : Math.min(0, after - timeMs));
    if (Math.abs(skewMs) <= maxSkewMs) {
      loggedMs = Number.NEGATIVE_INFINITY;
    } else if (ports.monotonicMs() - loggedMs >= skewLoggedEveryMs) {
      loggedMs = ports.monotonicMs();
      onSkew(skewMs);
    }
  }

  return {
    nowMs: () => {
      const virtual = ports.databaseTime();
      if (virtual) return virtual.getTime();
      // Before the first reading, which `ready` and `start` make.
      return last ? Math.floor(last.timeMs + ports.monotonicMs() - last.monotonicMs) : ports.now();
    },
    isFresh: () =>
      ports.databaseTime() !== null ||
      (last !== undefined && ports.monotonicMs() - last.monotonicMs < maxCarriedMs),
    reading: async (query) => {
      const virtual = ports.databaseTime();
      const before = ports.now();
      const timeMs = virtual?.getTime() ?? (await query());
      if (virtual) await query();
      // From the answer on: behind by the way of the answer, never ahead, however long the database took.
      else last = { timeMs, monotonicMs: ports.monotonicMs() };
      compare(timeMs, before, ports.now());
      return new Date(timeMs);
    },
    // Whole seconds that a 32-bit column can hold.
    skewSeconds: () => Math.max(-maxStored, Math.min(maxStored, Math.trunc(skewMs / 1000))),
  };
}
