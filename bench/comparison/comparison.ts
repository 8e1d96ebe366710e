import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Bench, withClient } from '../tools/postgres.ts';
import { progress, whole } from '../tools/text.ts';
import { describeMode } from './ranking.ts';
import { startWorkers, type Workers } from './workers.ts';

/** A system under comparison: a worker script, and SQL that shows the state of its work. */
export interface Subject {
  name: string;
  script: URL;
  variants: Variant[];
  /** SQL condition: no job waits and no job runs. */
  settled: string;
  /** Throws unless each job ran exactly once. */
  verify(client: pg.Client, jobs: number): Promise<void>;
}

interface Variant {
  name: string;
  /** Method and settings, for the report. */
  about: string;
  /** Skipped in a quick comparison. */
  slow?: boolean;
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
  /** Description by subject and variant. */
  about: Record<string, Record<string, string>>;
  rounds: Timing[][];
}

export interface ComparisonScale {
  jobs: number;
  rounds: number;
  /** Only the fast variants, with two processes: enough to detect a lower ratio. */
  quick?: boolean;
}

/** The run fails if no progress is reported for this time. */
const stuckMs = 60_000;
const database = 'comparison';

/** Each round measures all subjects, variants and modes, and starts with another subject. The first round is a warm-up. */
export async function runComparison(
  bench: Bench,
  name: string,
  subjects: Subject[],
  { jobs, rounds: count, quick = false }: ComparisonScale,
): Promise<Comparison> {
  const variantsOf = ({ variants }: Subject) => variants.filter(({ slow }) => !(quick && slow));
  const workers = subjects.map(({ script }) => startWorkers(script, 2));
  const rounds: Timing[][] = [];
  try {
    for (let round = 0; round <= count; round++) {
      progress(round === 0 ? `${name}: warm-up` : `${name}: ${whole(jobs)} jobs, round ${round} of ${count}`);
      const timings: Timing[] = [];
      for (let turn = 0; turn < subjects.length; turn++) {
        const i = (round + turn) % subjects.length;
        const subject = subjects[i] as Subject;
        for (const { name: variant } of variantsOf(subject))
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
  const about = subjects.map((subject) => [
    subject.name,
    Object.fromEntries(variantsOf(subject).map((variant) => [variant.name, variant.about])),
  ]);
  return { jobs, about: Object.fromEntries(about), rounds };
}

/** Uses a new database and a checkpoint, so no subject pays for the writes of another. */
async function measure(
  bench: Bench,
  subject: Subject,
  workers: Workers,
  variant: string,
  mode: Mode,
  jobs: number,
): Promise<Timing> {
  const url = await bench.createDatabase(database);
  const timing = await withClient(url, async (client) => {
    await workers.send({ action: 'prepare', url, variant, jobs }, 1);
    await workers.send({ action: 'open', url, variant, jobs }, mode.processes);
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
    workers.reset();
    const started = performance.now();
    const adding = workers.send({ action: 'add', jobs }, 1);
    if (mode.order === 'sequential') await adding;
    await Promise.all([adding, workers.send({ action: 'run' }, mode.processes)]);
    await untilDone(client, subject, workers, jobs);
    const totalMs = performance.now() - started;
    await workers.send({ action: 'close' }, mode.processes);
    if (workers.done() !== jobs) throw new Error(`${subject.name}: ${workers.done()} runs of ${jobs} jobs`);
    await subject.verify(client, jobs);
    return { subject: subject.name, variant, ...mode, totalMs, perSecond: (jobs / totalMs) * 1000 };
  });
  await bench.dropDatabase(database);
  progress(`  ${subject.name}, ${variant}, ${describeMode(mode)}: ${whole(timing.perSecond)}/s`);
  return timing;
}

/** Queries the database only after all jobs are reported, so the query slows no worker down. */
async function untilDone(
  client: pg.Client,
  { name, settled }: Subject,
  workers: Workers,
  jobs: number,
): Promise<void> {
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
