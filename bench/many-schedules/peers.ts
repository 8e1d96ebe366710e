import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../tools/child.ts';
import type { Bench } from '../tools/postgres.ts';
import { fixed, median, progress, whole } from '../tools/text.ts';

export interface PeerLoad {
  url: string;
  schedules: number;
  /** Schedules that are due each minute, or each second if the peer supports seconds. */
  due: number;
}

/** Only graphile-worker serves `restart`: a start with all schedules stored. */
export type PeerApi = Record<'measure' | 'restart', (load: PeerLoad) => Promise<PeerTimes>>;

/** Durations that the peer does not have, or did not reach in time, are absent. */
export interface PeerTimes {
  schedules: number;
  scheduleMs?: number;
  startMs?: number;
  restartMs?: number;
  passMs: number[];
  lagsMs: number[];
}

export interface PeerResult {
  peer: string;
  schedules: number;
  rounds: PeerTimes[];
  /** Why rounds or schedules are missing. */
  stopped?: string;
  restartTimedOut?: boolean;
}

const scripts: Record<string, string> = {
  'graphile-worker': 'graphile-worker.ts',
  'pg-boss': 'pg-boss.ts',
  'BullMQ on Postgres': 'bullmq.ts',
};
/** Includes one minute until schedules are due. */
const timeoutMs = 200_000;
export const restartTimeoutMs = 60_000;

export async function measurePeers(bench: Bench, sizes: number[], rounds: number, due: number) {
  const results = Object.keys(scripts).flatMap((peer) =>
    sizes.map((schedules): PeerResult => ({ peer, schedules, rounds: [] })),
  );
  for (let round = 0; round < rounds; round++)
    for (const result of results) if (!result.stopped) await measurePeer(bench, result, due);
  return results;
}

async function measurePeer(bench: Bench, result: PeerResult, due: number): Promise<void> {
  const { peer, schedules } = result;
  const child = startChild<PeerApi>(new URL(`peers/${scripts[peer]}`, import.meta.url));
  try {
    await bench.withDatabase('bench_peer', async (_, url) => {
      const load = { url, schedules, due };
      const times = await within(timeoutMs, child.call('measure', load));
      if (!times) throw new Error(`no result after ${timeoutMs / 1000} s.`);
      result.rounds.push(times);
      if (times.schedules < schedules) result.stopped = `${times.schedules} schedules after a minute.`;
      if (times.startMs === undefined || result.restartTimedOut) return;
      const restart = await within(restartTimeoutMs, child.call('restart', load));
      if (restart?.startMs !== undefined) times.restartMs = restart.startMs;
      else result.restartTimedOut = true;
    });
  } catch (error) {
    result.stopped = error instanceof Error ? error.message : String(error);
  } finally {
    await child.end();
  }
  const { passMs = [], lagsMs = [] } = result.rounds.at(-1) ?? {};
  const figures = `pass ${fixed(1)(median(passMs))} ms, lag ${fixed(1)(median(lagsMs))} ms`;
  progress(`many schedules: ${peer}, ${whole(schedules)}: ${figures} ${result.stopped ?? ''}`);
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController();
  const timeout = delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  // After a timeout the process is ended, which rejects its pending command.
  work.catch(() => {});
  try {
    return await Promise.race([work, timeout]);
  } finally {
    timer.abort();
  }
}

export const minuteOf = (ms: number) => ms - (ms % 60_000);

export const everyMinute = '* * * * *';

/** An hourly cron expression, 15 to 45 minutes ahead. */
export function hourlyLater(n: number): string {
  return `${(new Date().getUTCMinutes() + 15 + (n % 30)) % 60} * * * *`;
}

export async function untilCount(count: () => number, wanted: number, maxMs: number): Promise<void> {
  const deadline = performance.now() + maxMs;
  while (count() < wanted && performance.now() < deadline) await delay(20);
}
