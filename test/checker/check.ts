import { isDeepStrictEqual } from 'node:util';
import { readHistory, readTable, type Sql } from './history.ts';
import type { Always, AtRest, Finding, Schedule } from './invariant.ts';
import * as claims from './invariants/claims.ts';
import * as connections from './invariants/connections.ts';
import * as cursors from './invariants/cursors.ts';
import * as failures from './invariants/failures.ts';
import * as feed from './invariants/feed.ts';
import * as losses from './invariants/losses.ts';
import * as processes from './invariants/processes.ts';
import * as rest from './invariants/rest.ts';
import * as schedule from './invariants/schedule.ts';
import * as signals from './invariants/signals.ts';
import * as status from './invariants/status.ts';
import { compareWithTruth, type Truth, truthNames } from './truth.ts';
import { commitOf, World } from './world.ts';

export type { Sql } from './history.ts';
export type { Truth } from './truth.ts';

/** Something that must hold, and does not. */
export interface Violation {
  /** What must hold, as a sentence. */
  invariant: string;
  connectionId?: string | undefined;
  jobId?: string | undefined;
  detail: string;
  /** After which committed transaction it did not hold. */
  position?: string | undefined;
}

export interface CheckOptions {
  schema?: string;
  /** What the providers have. */
  truth?: Truth[];
  /** The time at the end, where it is not the database's. */
  now?: string;
  /** Everything should have finished by now. */
  quiet?: boolean;
  /** How the scheduler was set up, where it was not as usual. */
  schedule?: Partial<Schedule>;
}

const usual: Schedule = {
  tickIntervalSeconds: 60,
  defaultIntervalSeconds: 900,
  maxOverriddenIntervalSeconds: 86_400,
  jitterPctMin: 0,
  jitterPctMax: 0.2,
};

const atAllTimes: Always[] = [
  status,
  claims,
  losses,
  failures,
  cursors,
  signals,
  feed,
  schedule,
  connections,
  processes,
].flatMap((group) => Object.values<Always>(group));
const onceAtRest: AtRest[] = Object.values(rest);
const historyIsComplete = 'at rest, the tables are what their history says';

/** The name of everything that is checked. */
export const invariants: string[] = [
  ...[...atAllTimes, ...onceAtRest].map(({ name }) => name),
  historyIsComplete,
  ...Object.values(truthNames),
];

/** Replays everything that was committed since the history began, and returns what was not as it must be. */
export async function check(sql: Sql, options: CheckOptions = {}): Promise<Violation[]> {
  const { schema = 'syncline', truth = [], quiet = false } = options;
  const circumstances = { ...usual, ...options.schedule };
  const world = new World();
  const violations: Violation[] = [];
  for await (const written of readHistory(sql, schema)) {
    const commit = commitOf(written);
    world.apply(commit);
    if (commit.isStart) continue;
    for (const { name, look } of atAllTimes)
      violations.push(...told(name, look(commit, world, circumstances), commit.position));
  }
  if (quiet) {
    const nowMs = options.now === undefined ? await databaseTime(sql) : Date.parse(options.now);
    for (const { name, look } of onceAtRest)
      violations.push(...told(name, look(world, { nowMs, schedule: circumstances })));
    violations.push(...told(historyIsComplete, await unlikeTables(sql, schema, world)));
  }
  for (const one of truth) violations.push(...(await compareWithTruth(sql, schema, one)));
  return violations;
}

const told = (invariant: string, findings: Iterable<Finding>, position?: string): Violation[] =>
  [...findings].map((finding) => ({ invariant, ...finding, ...(position !== undefined && { position }) }));

async function databaseTime(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }>('SELECT (extract(epoch FROM now()) * 1000)::float8 AS ms');
  return row?.ms ?? Number.NaN;
}

/** Of a table that was truncated, or whose triggers were switched off, nothing can be said: that is worse than a violation. */
async function unlikeTables(sql: Sql, schema: string, world: World): Promise<Finding[]> {
  const replayed = { connections: world.connections, sync_jobs: world.jobs } as const;
  const findings: Finding[] = [];
  for (const table of ['connections', 'sync_jobs'] as const) {
    const rows = new Map(
      (await readTable(sql, table, schema)).map((row) => [(row as { id: string }).id, row]),
    );
    const ids = new Set([...rows.keys(), ...replayed[table].keys()]);
    const unlike = [...ids].filter((id) => !isDeepStrictEqual(rows.get(id), replayed[table].get(id)));
    if (unlike.length > 0)
      findings.push({
        detail: `${unlike.length} rows of ${table} are not what was written down, such as ${unlike[0]}`,
      });
  }
  return findings;
}
