import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Bench } from '../tools/postgres.ts';
import { progress, whole } from '../tools/text.ts';
import { describeMode } from './ranking.ts';
import { startWorkers, type Workers } from './workers.ts';

export interface Subject {
  name: string;
  script: URL;
  env?: Record<string, string>;
  /** The fastest is the last. */
  variants: string[];
  /** SQL condition: no job waits and no job runs. */
  settled: string;
  /** Throws unless each job ran exactly once. */
  verify(client: pg.Client, jobs: number): Promise<void>;
}

/** `sequential`: workers start after all jobs are added. `concurrent`: workers run while jobs are added. */
const modes = [
  { processes: 1, order: 'sequential' },
  { processes: 2, order: 'sequential' },
  { processes: 2, order: 'concurrent' },
] as const;
type Mode = (typeof modes)[number];

export interface Timing {
  subject: string;
  variant: string;
  processes: number;
  order: Mode['order'];
  totalMs: number;
  perSecond: number;
}

export interface Comparison {
  jobs: number;
  rounds: Timing[][];
}

const stuckMs = 60_000;

/**
 * Each round measures all subjects, variants and modes, and starts with another subject. The first round is a warm-up. With
 * `quick` only the last variant and mode of each subject run, which is enough to detect a lower ratio.
 */
export async function runComparison(
  bench: Bench,
  name: string,
  subjects: Subject[],
  { jobs, rounds: count, quick = false }: { jobs: number; rounds: number; quick?: boolean },
): Promise<Comparison> {
  const workers = subjects.map(({ script, env }) => startWorkers(script, env));
  const rounds: Timing[][] = [];
  try {
    for (let round = 0; round <= count; round++) {
      progress(round === 0 ? `${name}: warm-up` : `${name}: ${whole(jobs)} jobs, round ${round} of ${count}`);
      const timings: Timing[] = [];
      for (let turn = 0; turn < subjects.length; turn++) {
        const i = (round + turn) % subjects.length;
        const subject = subjects[i] as Subject;
        for (const variant of quick ? subject.variants.slice(-1) : subject.variants)
          for (const mode of quick ? modes.slice(-1) : modes) {
            const size = round === 0 ? Math.min(jobs, 1000) : jobs;
            timings.push(await measure(bench, subject, workers[i] as Workers, variant, mode, size));
          }
      }
      if (round > 0) rounds.push(timings);
    }
  } finally {
    await Promise.all(workers.map((one) => one.end()));
  }
  return { jobs, rounds };
}

/** Uses a new database and a checkpoint, so no subject pays for the writes of another. */
function measure(
  bench: Bench,
  subject: Subject,
  workers: Workers,
  variant: string,
  mode: Mode,
  jobs: number,
): Promise<Timing> {
  const { processes, order } = mode;
  return bench.withDatabase('comparison', async (client, url) => {
    await workers.call(1, 'prepare', url, variant, jobs);
    await workers.call(processes, 'open', url, variant);
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
    workers.reset();
    const started = performance.now();
    const adding = workers.call(1, 'add', jobs);
    if (order === 'sequential') await adding;
    await Promise.all([adding, workers.call(processes, 'run')]);
    await untilDone(client, subject, workers, jobs);
    const totalMs = performance.now() - started;
    await workers.call(processes, 'close');
    if (workers.done() !== jobs) throw new Error(`${subject.name}: ${workers.done()} runs of ${jobs} jobs`);
    await subject.verify(client, jobs);
    const perSecond = (jobs / totalMs) * 1000;
    progress(`  ${subject.name}, ${variant}, ${describeMode(mode)}: ${whole(perSecond)}/s`);
    return { subject: subject.name, variant, ...mode, totalMs, perSecond };
  });
}

/** Queries the database only after all jobs are reported, so the query slows no worker down. */
async function untilDone(client: pg.Client, { name, settled }: Subject, workers: Workers, jobs: number) {
  let [last, lastAt] = [0, performance.now()];
  for (;;) {
    const done = workers.done();
    if (done !== last) [last, lastAt] = [done, performance.now()];
    if (done >= jobs) {
      const { rows } = await client.query<{ settled: boolean }>(`SELECT ${settled} AS settled`);
      if (rows[0]?.settled) return;
    }
    if (performance.now() - lastAt > stuckMs) throw new Error(`${name}: stuck after ${done} of ${jobs} jobs`);
    await delay(5);
  }
}
