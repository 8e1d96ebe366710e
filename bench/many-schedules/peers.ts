import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../tools/child.ts';
import type { Bench } from '../tools/postgres.ts';
import { fixed, median, progress, whole } from '../tools/text.ts';

export interface PeerCommand {
  url: string;
  schedules: number;
  /** Schedules that are due each minute, or each second if the peer supports seconds. */
  due: number;
  /** Only measures a start with all schedules stored. */
  isRestart?: boolean;
}

/** Durations that the peer does not have, or did not reach in time, are absent. */
export interface PeerTimes {
  /** Stored schedules: fewer than requested if time ran out. */
  schedules: number;
  /** To create one schedule through the API. */
  scheduleMs?: number;
  /** To read all schedules at the first start, and at a later one. */
  startMs?: number;
  restartMs?: number;
  /** Each pass over the schedules that found `due` of them due. */
  passMs: number[];
  /** From due to handler call. */
  lagsMs: number[];
}

export interface PeerResult {
  peer: string;
  how: string;
  schedules: number;
  rounds: PeerTimes[];
  /** Why rounds or schedules are missing. */
  stopped?: string;
  /** The restart exceeded its timeout. */
  restartTimedOut?: boolean;
}

interface Peer {
  name: string;
  script: string;
  how: string;
  isRestarted?: boolean;
}

const peers: Peer[] = [
  {
    name: 'graphile-worker',
    script: 'graphile-worker.ts',
    how:
      'crontab items in memory, hourly except the due ones (its documentation advises against one per user); concurrency 100, local queue of 500. ' +
      'A pass lasts from the start of a minute until the due jobs are in the table. A start registers all items; a restart compares them with the stored ones.',
    isRestarted: true,
  },
  {
    name: 'pg-boss',
    script: 'pg-boss.ts',
    how:
      'cronMonitorIntervalSeconds 1 and cronWorkerIntervalSeconds 1 (default 30 and 5), pollingIntervalSeconds 0.5, batchSize 100. A pass lasts from ' +
      'its claim until the due jobs are inserted, timed at the statements in a database adapter. All schedules except the due ones are hourly and ' +
      'copied in SQL from one that schedule() created.',
  },
  {
    name: 'BullMQ on Postgres',
    script: 'bullmq.ts',
    how:
      'one job scheduler each, hourly from the next day on except the due ones; 20 parallel upserts. There is no pass: each scheduler keeps one ' +
      'delayed job. Due schedulers run every second; worker concurrency 100.',
  },
];

/** Includes one minute until schedules are due. */
const timeoutMs = 200_000;
export const restartTimeoutMs = 60_000;

export async function measurePeers(
  bench: Bench,
  sizes: number[],
  rounds: number,
  due: number,
): Promise<PeerResult[]> {
  const results = peers.flatMap(({ name, how }) =>
    sizes.map((schedules): PeerResult => ({ peer: name, how, schedules, rounds: [] })),
  );
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < peers.length; turn++) {
      const peer = peers[(turn + round) % peers.length] as Peer;
      for (const result of results.filter((one) => one.peer === peer.name && one.stopped === undefined))
        await measurePeer(bench, peer, result, due);
    }
  return results;
}

async function measurePeer(bench: Bench, peer: Peer, result: PeerResult, due: number): Promise<void> {
  const { schedules } = result;
  const url = await bench.createDatabase('bench_peer');
  const child = startChild<PeerCommand, PeerTimes>(new URL(`peers/${peer.script}`, import.meta.url));
  try {
    const command = { url, schedules, due };
    const times = await within(timeoutMs, child.send(command));
    if (!times) result.stopped = `no result after ${timeoutMs / 1000} s.`;
    else {
      result.rounds.push(times);
      if (times.schedules < schedules) result.stopped = `${times.schedules} schedules after a minute.`;
      if (peer.isRestarted && !result.restartTimedOut) {
        const restart = await within(restartTimeoutMs, child.send({ ...command, isRestart: true }));
        if (restart?.restartMs !== undefined) times.restartMs = restart.restartMs;
        else result.restartTimedOut = true;
      }
    }
  } catch (error) {
    result.stopped = error instanceof Error ? error.message : String(error);
  } finally {
    await child.end();
    await bench.dropDatabase('bench_peer');
  }
  const { passMs = [], lagsMs = [] } = result.rounds.at(-1) ?? {};
  progress(
    `many schedules: ${peer.name}, ${whole(schedules)}: pass ${fixed(1)(median(passMs))} ms, lag ${fixed(1)(median(lagsMs))} ms ${result.stopped ?? ''}`,
  );
}

/** Undefined after the timeout. */
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
