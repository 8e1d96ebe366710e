import { setTimeout as delay } from 'node:timers/promises';
import { chanceOf } from '../http/random.ts';
import { type ChaosEnvironment, openEnvironment } from './environment.ts';
import { type Fault, lanes } from './fault.ts';
import { logPatterns } from './fleet.ts';
import { faults, planOf } from './plan.ts';
import type { Recoveries } from './recovery.ts';
import { judgeEnd } from './verdict.ts';

export interface ChaosOptions {
  seconds: number;
  seed: number;
  only?: readonly string[] | undefined;
  connections?: number;
  executors?: number;
  maxPauseMs?: number;
  limitFactor?: number;
  log?: (line: string) => void;
}

export interface ChaosReport {
  seed: number;
  kinds: { kind: string; count: number; skipReason: string | undefined }[];
  recoveries: Recoveries;
  logCounts: Record<string, number>;
  responses: Record<string, number>;
  stored: { connections: number; jobs: number; signals: number };
  /** Empty on success. */
  problems: string[];
}

const maxSimilarProblems = 3;
const withoutIds = (text: string) => text.replaceAll(/[0-9a-f]+(-[0-9a-f]+)+|\d+/g, '…');

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const {
    seconds,
    seed,
    only,
    connections = 300,
    executors = 4,
    maxPauseMs = 1500,
    limitFactor = 1,
    log = () => {},
  } = options;
  const problems: string[] = [];
  const onProblem = (problem: string) => {
    // One defect often affects many jobs.
    const isSimilar = (other: string) => withoutIds(other) === withoutIds(problem);
    if (problems.filter(isSimilar).length === maxSimilarProblems) return;
    problems.push(problem);
    log(`problem: ${problem}`);
  };
  const chosen = faults.filter(({ kind }) => !only || only.includes(kind));
  const counts = new Map(chosen.map(({ kind }) => [kind, 0]));
  const environment = await openEnvironment({ seed, connections, executors, limitFactor, onProblem });
  const skipReason = new Map(
    chosen.map((fault) => [fault.kind, fault.skipReason?.({ ...environment, chance: chanceOf(seed) })]),
  );
  const interval = reportProgress(environment, counts, log);
  try {
    const possible = chosen.filter(({ kind }) => skipReason.get(kind) === undefined);
    await environment.recovery.fleetReady();
    const endsAt = Date.now() + seconds * 1000;
    log(`injecting faults for ${seconds} s, seed ${seed}`);
    await Promise.all(
      lanes.map((lane, i) => {
        const inLane = possible.filter((fault) => fault.lane === lane);
        return runLane({ environment, faults: inLane, seed: seed + i, endsAt, maxPauseMs, counts, log });
      }),
    );
    log('faults ended; draining the queue');
    await environment.network.heal();
    await environment.work.finish();
    await environment.recovery.allRecovered();
    const stored = await judgeEnd(environment);
    await environment.fleet.stop();
    for (const [kind, count] of counts)
      if (count === 0 && skipReason.get(kind) === undefined) onProblem(`${kind} never took effect`);
    return {
      seed,
      kinds: chosen.map(({ kind }) => ({
        kind,
        count: counts.get(kind) ?? 0,
        skipReason: skipReason.get(kind),
      })),
      recoveries: environment.recovery.durations,
      logCounts: Object.fromEntries(
        Object.entries(logPatterns).map(([name, pattern]) => [name, environment.fleet.logCount(pattern)]),
      ),
      responses: Object.fromEntries(environment.work.responses),
      stored,
      problems,
    };
  } finally {
    clearInterval(interval);
    await environment.close();
  }
}

interface LaneOptions {
  environment: ChaosEnvironment;
  faults: Fault[];
  seed: number;
  endsAt: number;
  maxPauseMs: number;
  counts: Map<string, number>;
  log: (line: string) => void;
}

/** Each fault at least once, then until the time is over. */
async function runLane({
  environment,
  faults: kinds,
  seed,
  endsAt,
  maxPauseMs,
  counts,
  log,
}: LaneOptions): Promise<void> {
  // One random stream per lane: the speed of another lane does not change this one.
  const chance = chanceOf(seed);
  for (const { fault, isFirst } of planOf(kinds, chance)) {
    if (!isFirst && Date.now() > endsAt) return;
    await delay(chance.below(maxPauseMs));
    const effects = await inject(fault, isFirst ? maxTries : 1);
    counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + effects);
    log(`${fault.kind}: ${effects > 0 ? 'done' : 'had no effect'}`);
  }

  async function inject(fault: Fault, tries: number): Promise<number> {
    const effects = await fault.inject({ ...environment, chance }).catch((error: Error) => {
      environment.onProblem(`${fault.kind} could not be injected: ${error.stack}`);
      return 0;
    });
    return effects > 0 || tries === 1 ? effects : inject(fault, tries - 1);
  }
}

/** The target of a fault may be in use by another fault. */
const maxTries = 3;
const progressMs = 60_000;

function reportProgress(
  { postgres }: ChaosEnvironment,
  counts: Map<string, number>,
  log: (line: string) => void,
): NodeJS.Timeout {
  const startedAt = Date.now();
  return setInterval(() => {
    const minutes = Math.round((Date.now() - startedAt) / 60_000);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    postgres
      .sql<{ jobs: string; signals: string }>(
        `SELECT (SELECT count(*) FROM syncline.sync_jobs WHERE status = 'succeeded') AS jobs, (SELECT count(*) FROM syncline.signals) AS signals`,
      )
      .then(
        ([row]) =>
          log(
            `minute ${minutes}: ${total} faults, ${row?.jobs} runs succeeded, ${row?.signals} signals stored`,
          ),
        () => log(`minute ${minutes}: ${total} faults, the database is down`),
      );
  }, progressMs);
}
