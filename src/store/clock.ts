import type { Ports } from '../platform/ports.ts';

/** DB-6: the database clock, extrapolated between readings. */
export interface DatabaseClock {
  nowMs(): number;
  isFresh(): boolean;
  /** A virtual clock in `ports` takes precedence over `query`. */
  reading(query: () => Promise<number>): Promise<Date>;
  /** Positive: the process clock is ahead. */
  skewSeconds(): number;
}

/** Bounds how long a clock step stays unnoticed. */
const maxReadingAgeMs = 60_000;
/** NTP keeps clocks within milliseconds. */
export const maxSkewMs = 30_000;
const maxInt32 = 2 ** 31 - 1;
const skewLogIntervalMs = 600_000;

/** Independent of DateStyle (numeric) and search_path (qualified). */
export const clockColumn = `pg_catalog.floor(
  pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000) AS now_ms`;

export interface ClockRow {
  now_ms: number;
}

export type AroundSend = (send: () => Promise<ClockRow[]>) => Promise<ClockRow[]>;

/** The statement selects `clockColumn`. */
export async function readClock(
  clock: DatabaseClock,
  run: (aroundSend: AroundSend) => Promise<unknown>,
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
  let lastLoggedMs = Number.NEGATIVE_INFINITY;

  function recordSkew(timeMs: number, before: number, after: number): void {
    // The reading lies between the two: only the excess is skew.
    skewMs = Math.round(before > timeMs ? before - timeMs : Math.min(0, after - timeMs));
    if (Math.abs(skewMs) <= maxSkewMs) {
      lastLoggedMs = Number.NEGATIVE_INFINITY;
    } else if (ports.monotonicMs() - lastLoggedMs >= skewLogIntervalMs) {
      lastLoggedMs = ports.monotonicMs();
      onSkew(skewMs);
    }
  }

  return {
    nowMs: () => {
      const virtual = ports.databaseTime();
      if (virtual) return virtual.getTime();
      // No reading before the first connection.
      return last ? Math.floor(last.timeMs + ports.monotonicMs() - last.monotonicMs) : ports.now();
    },
    isFresh: () =>
      ports.databaseTime() !== null ||
      (last !== undefined && ports.monotonicMs() - last.monotonicMs < maxReadingAgeMs),
    reading: async (query) => {
      const virtual = ports.databaseTime();
      const before = ports.now();
      const timeMs = virtual?.getTime() ?? (await query());
      if (virtual) await query();
      // Behind by the response latency, never ahead.
      else last = { timeMs, monotonicMs: ports.monotonicMs() };
      recordSkew(timeMs, before, ports.now());
      return new Date(timeMs);
    },
    // The column is int4.
    skewSeconds: () => Math.max(-maxInt32, Math.min(maxInt32, Math.trunc(skewMs / 1000))),
  };
}
