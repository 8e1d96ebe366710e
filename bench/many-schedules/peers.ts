import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../tools/bench.ts';
import { startChild } from '../tools/child.ts';
import { fixed, median, progress, table, whole } from '../tools/report.ts';

export interface PeerOrder {
  url: string;
  schedules: number;
  /** How many of them are due, each minute or each second, whichever is the finest that the peer knows. */
  due: number;
  /** Only starts again, with all schedules known. */
  isRestart?: boolean;
}

/** What a peer took. Times that it does not have, or did not get to, are absent. */
export interface PeerAnswer {
  /** How many schedules there were in the end: fewer than asked for if time ran out. */
  schedules: number;
  /** To make one schedule through its API, one after the other. */
  scheduleMs?: number;
  /** To read its schedules when it starts for the first time, and again with all of them known. */
  startMs?: number;
  restartMs?: number;
  /** Each time that it looked for what is due, with `due` of them due. */
  passMs: number[];
  /** From when they were due until the handler was called. */
  lagsMs: number[];
}

export interface PeerFigures {
  peer: string;
  /** How it was set up, and what was timed. */
  how: string;
  schedules: number;
  rounds: PeerAnswer[];
  /** Why there are fewer rounds, or fewer schedules, than there were to be. */
  stopped?: string;
  /** Why there is no time of a restart. */
  restartStopped?: string;
}

interface Peer {
  name: string;
  script: string;
  how: string;
  /** What it does with its schedules when it starts depends on whether it knows them. */
  isRestarted?: boolean;
}

const peers: Peer[] = [
  {
    name: 'graphile-worker',
    script: 'graphile-worker.ts',
    how:
      'Crontab items in memory, hourly but for those due (its documentation advises against one for each user); concurrency 100, local queue of 500. A pass is from the ' +
      'beginning of a minute until the jobs that are due then are in the table. A start registers all items, a restart compares them with those known.',
    isRestarted: true,
  },
  {
    name: 'pg-boss',
    script: 'pg-boss.ts',
    how:
      'cronMonitorIntervalSeconds 1 and cronWorkerIntervalSeconds 1 (30 and 5 by default), pollingIntervalSeconds 0.5, batchSize 100. A pass is from ' +
      'its claim of the pass until what is due is inserted, timed at the statements that it sends through a database adapter of the benchmark. All but those ' +
      'due are hourly, and copied in SQL from one that schedule() made.',
  },
  {
    name: 'BullMQ on Postgres',
    script: 'bullmq.ts',
    how:
      'A job scheduler each, hourly from tomorrow on but for those due; upserted 20 at a time. It has no pass: each scheduler keeps one delayed job. Due ' +
      'ones run every second; worker with concurrency 100.',
  },
];

/** A minute until something is due, and a minute for each other thing that may take long. */
const patienceMs = 200_000;
const restartPatienceMs = 60_000;

export async function measurePeers(
  bench: Bench,
  { sizes, rounds, due }: { sizes: number[]; rounds: number; due: number },
): Promise<PeerFigures[]> {
  const figures = peers.flatMap(({ name, how }) =>
    sizes.map((schedules): PeerFigures => ({ peer: name, how, schedules, rounds: [] })),
  );
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < peers.length; turn++) {
      const peer = peers[(turn + round) % peers.length] as Peer;
      for (const one of figures.filter((figure) => figure.peer === peer.name && figure.stopped === undefined))
        await measureOne(bench, peer, one, due);
    }
  return figures;
}

async function measureOne(bench: Bench, peer: Peer, figures: PeerFigures, due: number): Promise<void> {
  const { schedules } = figures;
  const url = await bench.createDatabase('bench_peer');
  const child = startChild<PeerOrder, PeerAnswer>(new URL(`peers/${peer.script}`, import.meta.url));
  try {
    const order = { url, schedules, due };
    const answer = await within(patienceMs, child.tell(order));
    if (!answer) figures.stopped = `It had not ended after ${patienceMs / 1000} s.`;
    else {
      figures.rounds.push(answer);
      if (answer.schedules < schedules)
        figures.stopped = `It had ${answer.schedules} schedules after a minute.`;
    }
    if (answer && peer.isRestarted && figures.restartStopped === undefined) {
      const restart = await within(restartPatienceMs, child.tell({ ...order, isRestart: true }));
      if (restart?.restartMs !== undefined) answer.restartMs = restart.restartMs;
      else figures.restartStopped = `It had not ended after ${restartPatienceMs / 1000} s.`;
    }
  } catch (error) {
    figures.stopped = error instanceof Error ? error.message : String(error);
  } finally {
    await child.end();
    await bench.dropDatabase('bench_peer');
  }
  const { passMs = [], lagsMs = [] } = figures.rounds.at(-1) ?? {};
  const shown = passMs.length > 0 ? `pass ${fixed(1)(median(passMs))} ms` : 'no pass';
  const lag = lagsMs.length > 0 ? `lag ${fixed(1)(median(lagsMs))} ms` : 'no lag';
  progress(
    `many schedules: ${peer.name}, ${whole(schedules)}: ${shown}, ${lag}${figures.stopped ? `; ${figures.stopped}` : ''}`,
  );
}

/** Undefined if it takes longer. */
async function within<T>(mostMs: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const late = delay(mostMs, undefined, { signal: over.signal }).catch(() => undefined);
  // What is given up fails when its process is ended.
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

export function peersTable(figures: PeerFigures[]): string {
  const middle = (rounds: PeerAnswer[], values: (one: PeerAnswer) => number[]) => {
    const all = rounds.flatMap(values);
    return all.length === 0 ? '' : fixed(1)(median(all));
  };
  const present = (value: number | undefined) => (value === undefined ? [] : [value]);
  return table(
    ['Peer', 'schedules', 'one, ms', 'start, ms', 'restart, ms', 'pass, ms', 'lag p50, ms'],
    figures.map(({ peer, schedules, rounds, stopped, restartStopped }) => [
      stopped ? `${peer} (stopped)` : peer,
      whole(rounds.at(-1)?.schedules ?? schedules),
      middle(rounds, (one) => present(one.scheduleMs)),
      middle(rounds, (one) => present(one.startMs)),
      restartStopped ? `> ${restartPatienceMs}` : middle(rounds, (one) => present(one.restartMs)),
      middle(rounds, (one) => one.passMs),
      middle(rounds, (one) => one.lagsMs),
    ]),
  );
}
