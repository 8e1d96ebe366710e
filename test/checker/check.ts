import { isDeepStrictEqual } from 'node:util';
import { commitOf, DatabaseState } from './database-state.ts';
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
import * as timetable from './invariants/timetable.ts';
import { compareWithTruth, type Truth, truthNames } from './truth.ts';

export type { Sql } from './history.ts';
export type { Truth } from './truth.ts';

export interface Violation {
  invariant: string;
  connectionId?: string | undefined;
  jobId?: string | undefined;
  detail: string;
  /** The commit after which it was violated. */
  position?: string | undefined;
}

export interface CheckOptions {
  schema?: string;
  truth?: Truth[];
  /** End time, if not the database's. */
  now?: string;
  /** All work must have completed. */
  quiet?: boolean;
  /** Scheduler settings that differ from the defaults. */
  schedule?: Partial<Schedule>;
}

const defaultSchedule: Schedule = {
  tickIntervalSeconds: 60,
  defaultIntervalSeconds: 900,
  maxOverriddenIntervalSeconds: 86_400,
  jitterPctMin: 0,
  jitterPctMax: 0.2,
};

const alwaysInvariants: Always[] = [
  status,
  claims,
  losses,
  failures,
  cursors,
  signals,
  feed,
  schedule,
  timetable,
  connections,
  processes,
].flatMap((group) => Object.values<Always>(group));
const restInvariants: AtRest[] = Object.values(rest);
const historyIsComplete = 'at rest, the tables match their history';

export const invariants: string[] = [
  ...[...alwaysInvariants, ...restInvariants].map(({ name }) => name),
  historyIsComplete,
  ...Object.values(truthNames),
];

/** Replays the history commit by commit and returns the violations. */
export async function check(sql: Sql, options: CheckOptions = {}): Promise<Violation[]> {
  const { schema = 'syncline', truth = [], quiet = false } = options;
  const scheduleOptions = { ...defaultSchedule, ...options.schedule };
  const state = new DatabaseState();
  const violations: Violation[] = [];
  for await (const written of readHistory(sql, schema)) {
    const commit = commitOf(written);
    state.apply(commit);
    if (commit.isStart) continue;
    for (const { name, check } of alwaysInvariants)
      violations.push(...toViolations(name, check(commit, state, scheduleOptions), commit.position));
  }
  if (quiet) {
    const nowMs = options.now === undefined ? await databaseTime(sql) : Date.parse(options.now);
    for (const { name, check } of restInvariants)
      violations.push(...toViolations(name, check(state, { nowMs, schedule: scheduleOptions })));
    violations.push(...toViolations(historyIsComplete, await differingTables(sql, schema, state)));
  }
  for (const expected of truth) violations.push(...(await compareWithTruth(sql, schema, expected)));
  return violations;
}

const toViolations = (invariant: string, findings: Iterable<Finding>, position?: string): Violation[] =>
  [...findings].map((finding) => ({ invariant, ...finding, ...(position !== undefined && { position }) }));

async function databaseTime(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }>('SELECT (extract(epoch FROM now()) * 1000)::float8 AS ms');
  return row?.ms ?? Number.NaN;
}

/** Detects writes that the history missed, such as TRUNCATE or disabled triggers. */
async function differingTables(sql: Sql, schema: string, state: DatabaseState): Promise<Finding[]> {
  const replayed = { connections: state.connections, sync_jobs: state.jobs } as const;
  const findings: Finding[] = [];
  for (const table of ['connections', 'sync_jobs'] as const) {
    const rows = new Map(
      (await readTable(sql, table, schema)).map((row) => [(row as { id: string }).id, row]),
    );
    const ids = new Set([...rows.keys(), ...replayed[table].keys()]);
    const differing = [...ids].filter((id) => !isDeepStrictEqual(rows.get(id), replayed[table].get(id)));
    if (differing.length > 0)
      findings.push({
        detail: `${differing.length} rows of ${table} differ from the history, such as ${differing[0]}`,
      });
  }
  return findings;
}
