import { setTimeout as delay } from 'node:timers/promises';
import { chanceOf } from '../http/random.ts';
import { troubles } from './fleet.ts';
import { faults, planOf } from './plan.ts';
import type { Recoveries } from './recovery.ts';
import { openSetting, type Setting } from './setting.ts';
import { judgeEnd } from './verdict.ts';
import { type Fault, lanes } from './world.ts';

export interface ChaosOptions {
  seconds: number;
  seed: number;
  /** Kinds of faults; all unless given. */
  only?: readonly string[] | undefined;
  connections?: number;
  /** The longest pause between two faults of a lane. */
  maxPauseMs?: number;
  /** How many times as long as promised a recovery may take. */
  patience?: number;
  say?: (line: string) => void;
}

export interface ChaosReport {
  seed: number;
  /** How often each kind happened, or why it could not. */
  kinds: { kind: string; count: number; impossible: string | undefined }[];
  recoveries: Recoveries;
  /** What the fleet said of its troubles, and how often. */
  heard: Record<string, number>;
  answers: Record<string, number>;
  stored: { connections: number; jobs: number; signals: number };
  /** What must not have happened. Empty: all is well. */
  problems: string[];
}

const maxAlike = 3;
const withoutIds = (text: string) => text.replaceAll(/[0-9a-f]+(-[0-9a-f]+)+|\d+/g, '…');

/** A fleet, its database and its provider, faults of every kind for so long, and then what came of it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seconds, seed, only, connections = 300, maxPauseMs = 1500, patience = 1, say = () => {} } = options;
  const problems: string[] = [];
  const onProblem = (what: string) => {
    // Many are one, of different jobs.
    const isLikeIt = (other: string) => withoutIds(other) === withoutIds(what);
    if (problems.filter(isLikeIt).length === maxAlike) return;
    problems.push(what);
    say(`problem: ${what}`);
  };
  const chosen = faults.filter(({ kind }) => !only || only.includes(kind));
  const counts = new Map(chosen.map(({ kind }) => [kind, 0]));
  const setting = await openSetting({ seed, connections, patience, onProblem });
  const impossible = new Map(
    chosen.map((fault) => [fault.kind, fault.impossible?.({ ...setting, chance: chanceOf(seed) })]),
  );
  const interval = reportProgress(setting, counts, say);
  try {
    const possible = chosen.filter(({ kind }) => impossible.get(kind) === undefined);
    await setting.recovery.fleetIsThere();
    const endsAt = Date.now() + seconds * 1000;
    say(`faults for ${seconds} s, seed ${seed}`);
    await Promise.all(
      lanes.map((lane, i) => {
        const inLane = possible.filter((fault) => fault.lane === lane);
        return runLane({ setting, faults: inLane, seed: seed + i, endsAt, maxPauseMs, counts, say });
      }),
    );
    say('quiet: everything is finished');
    await setting.network.heal();
    await setting.work.finish();
    await setting.recovery.followed();
    const stored = await judgeEnd(setting);
    await setting.fleet.stop();
    for (const [kind, count] of counts)
      if (count === 0 && impossible.get(kind) === undefined) onProblem(`${kind} never happened`);
    return {
      seed,
      kinds: chosen.map(({ kind }) => ({
        kind,
        count: counts.get(kind) ?? 0,
        impossible: impossible.get(kind),
      })),
      recoveries: setting.recovery.took,
      heard: Object.fromEntries(
        Object.entries(troubles).map(([what, pattern]) => [what, setting.fleet.heard(pattern)]),
      ),
      answers: Object.fromEntries(setting.work.answers),
      stored,
      problems,
    };
  } finally {
    clearInterval(interval);
    await setting.close();
  }
}

interface LaneOptions {
  setting: Setting;
  faults: Fault[];
  seed: number;
  endsAt: number;
  maxPauseMs: number;
  counts: Map<string, number>;
  say: (line: string) => void;
}

/** One fault after the other: each at least once, however long that takes, and on until the time is over. */
async function runLane({
  setting,
  faults: kinds,
  seed,
  endsAt,
  maxPauseMs,
  counts,
  say,
}: LaneOptions): Promise<void> {
  // Of its own: how fast another lane goes does not change what happens in this one.
  const chance = chanceOf(seed);
  for (const { fault, isFirst } of planOf(kinds, chance)) {
    if (!isFirst && Date.now() > endsAt) return;
    await delay(chance.below(maxPauseMs));
    const struck = await strike(fault, isFirst ? maxTries : 1);
    counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + struck);
    say(`${fault.kind}: ${struck > 0 ? 'done' : 'had no effect'}`);
  }

  async function strike(fault: Fault, tries: number): Promise<number> {
    const struck = await fault.strike({ ...setting, chance }).catch((error: Error) => {
      setting.onProblem(`${fault.kind} could not be done: ${error.stack}`);
      return 0;
    });
    return struck > 0 || tries === 1 ? struck : strike(fault, tries - 1);
  }
}

/** Whom it was meant for may just have been busy with something else. */
const maxTries = 3;
const progressMs = 60_000;

function reportProgress(
  { postgres }: Setting,
  counts: Map<string, number>,
  say: (line: string) => void,
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
          say(
            `minute ${minutes}: ${total} faults, ${row?.jobs} runs succeeded, ${row?.signals} signals stored`,
          ),
        () => say(`minute ${minutes}: ${total} faults, the database is away`),
      );
  }, progressMs);
}
