import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Bench } from './bench.ts';
import { type Crew, startCrew } from './crew.ts';
import { progress, whole } from './report.ts';
import { labelOf } from './standings.ts';

/** Somebody who takes part: a script that runs in processes of its own, and how to see in SQL what it has done. */
export interface Entrant {
  name: string;
  script: URL;
  /** Ways to write the same work. */
  variants: Variant[];
  /** SQL that says whether nothing waits and nothing runs. */
  settled: string;
  /** Throws unless all of the work has been done, once. */
  verify(client: pg.Client, jobs: number): Promise<void>;
}

interface Variant {
  name: string;
  /** What it is, and the settings it runs with. */
  about: string;
  /** Left out when only the best is asked for. */
  slow?: boolean;
}

/** `in turn`: all jobs are added, then run. `at once`: workers run while jobs are added. */
const ways = [
  { processes: 1, order: 'in turn' },
  { processes: 2, order: 'in turn' },
  { processes: 2, order: 'at once' },
] as const;
type Way = (typeof ways)[number];

export interface Measured {
  entrant: string;
  variant: string;
  processes: number;
  order: Way['order'];
  /** Of `in turn` only: at once they cannot be told apart. */
  addMs?: number;
  runMs?: number;
  totalMs: number;
  perSecond: number;
  runPerSecond?: number;
}

export interface Contest {
  jobs: number;
  about: Record<string, Record<string, string>>;
  rounds: Measured[][];
}

export interface ContestScale {
  jobs: number;
  rounds: number;
  /** Only entrants with these names. */
  who?: string[];
  /** Only the fastest variants, in two processes at once: enough to see whether a ratio has fallen. */
  bestOnly?: boolean;
}

/** How long nothing may be heard of the work before it counts as stuck. */
const patienceMs = 60_000;
const processes = Math.max(...ways.map((way) => way.processes));

/** Every entrant, variant and way in each round, another entrant first each time, after a round that is not counted. */
export async function holdContest(
  bench: Bench,
  name: string,
  all: Entrant[],
  { jobs, rounds: count, who, bestOnly = false }: ContestScale,
): Promise<Contest> {
  const entrants = all.filter((entrant) => who?.includes(entrant.name) ?? true);
  const crews = new Map(entrants.map((entrant) => [entrant, startCrew(entrant.script, processes)]));
  const rounds: Measured[][] = [];
  try {
    for (let round = 0; round <= count; round++) {
      const warmUp = round === 0;
      const size = warmUp ? Math.min(jobs, 1000) : jobs;
      progress(warmUp ? `${name}: warming up` : `${name}: ${whole(jobs)} jobs, round ${round} of ${count}`);
      const measured: Measured[] = [];
      for (let turn = 0; turn < entrants.length; turn++) {
        const entrant = entrants[(round + turn) % entrants.length] as Entrant;
        for (const variant of entrant.variants.filter(({ slow }) => !(bestOnly && slow))) {
          for (const way of bestOnly ? ways.slice(-1) : ways) {
            const crew = crews.get(entrant) as Crew;
            measured.push(await measure({ bench, entrant, crew, variant: variant.name, way, jobs: size }));
          }
        }
      }
      if (!warmUp) rounds.push(measured);
    }
  } finally {
    await Promise.all([...crews.values()].map((crew) => crew.stop()));
  }
  const about = entrants.map((entrant) => [
    entrant.name,
    Object.fromEntries(entrant.variants.map((variant) => [variant.name, variant.about])),
  ]);
  return { jobs, about: Object.fromEntries(about), rounds };
}

interface Attempt {
  bench: Bench;
  entrant: Entrant;
  crew: Crew;
  variant: string;
  way: Way;
  jobs: number;
}

/** On a database of its own, checkpointed before: nobody pays for what another has written. */
async function measure({ bench, entrant, crew, variant, way, jobs }: Attempt): Promise<Measured> {
  const database = 'contest';
  const url = await bench.createDatabase(database);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await crew.tell({ action: 'prepare', url, variant, jobs }, 1);
    await crew.tell({ action: 'open', url, variant }, way.processes);
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
    crew.forget();
    const started = performance.now();
    const adding = crew.tell({ action: 'add', jobs }, 1);
    if (way.order === 'in turn') await adding;
    const added = performance.now();
    await Promise.all([adding, crew.tell({ action: 'run' }, way.processes)]);
    await untilDone(client, entrant, crew, jobs);
    const ended = performance.now();
    await crew.tell({ action: 'close' }, way.processes);
    if (crew.done() !== jobs) throw new Error(`${entrant.name}: ${crew.done()} runs of ${jobs} jobs`);
    await entrant.verify(client, jobs);
    const measured: Measured = {
      entrant: entrant.name,
      variant,
      ...way,
      totalMs: ended - started,
      perSecond: (jobs / (ended - started)) * 1000,
      ...(way.order === 'in turn' && {
        addMs: added - started,
        runMs: ended - added,
        runPerSecond: (jobs / (ended - added)) * 1000,
      }),
    };
    progress(`  ${labelOf(measured)}: ${whole(measured.perSecond)}/s`);
    return measured;
  } finally {
    await client.end();
    await bench.dropDatabase(database);
  }
}

/** Asks the database only when all of the work has been reported, so that asking slows nobody down. */
async function untilDone(
  client: pg.Client,
  { name, settled }: Entrant,
  crew: Crew,
  jobs: number,
): Promise<void> {
  let [last, lastAt] = [0, performance.now()];
  for (;;) {
    const done = crew.done();
    if (done !== last) [last, lastAt] = [done, performance.now()];
    if (done >= jobs) {
      const { rows } = await client.query<{ settled: boolean }>(`SELECT ${settled} AS settled`);
      if (rows[0]?.settled) return;
    }
    if (performance.now() - lastAt > patienceMs)
      throw new Error(`${name}: stuck after ${done} of ${jobs} jobs`);
    await delay(5);
  }
}

/** Throws unless there are so many rows in what is given after FROM. */
export async function requireCount(
  client: pg.Client,
  what: string,
  from: string,
  count: number,
): Promise<void> {
  const { rows } = await client.query<{ found: number }>(`SELECT count(*)::int AS found FROM ${from}`);
  if (rows[0]?.found !== count) throw new Error(`${what}: ${rows[0]?.found}, not ${count}`);
}
