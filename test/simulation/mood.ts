import type { ConfigOptions } from '../../src/index.ts';
import type { Random } from './random.ts';
import type { StatementFault } from './stage.ts';
import type { Temper } from './world.ts';

/** What can befall an engine, or everybody, between two steps. */
export type Mishap =
  | 'crash'
  | 'stop'
  | 'pause'
  | 'clock jumps'
  | 'sessions are cut'
  | 'operator acts'
  | 'provider grows'
  | 'time leaps';

/** How likely everything is that goes wrong in one simulation. */
export interface Mood {
  /** Per statement. */
  statements: Record<Exclude<StatementFault, 'none'>, number>;
  /** Per step. */
  mishaps: Record<Mishap, number>;
  temper: Temper;
  /** Whether notifications arrive, as they do unless there is a transaction pooler. */
  hasNotifications: boolean;
  /** How far clocks jump. */
  jumpSeconds: number;
  /** Whether clocks are that far off from the beginning. */
  startsSkewed: boolean;
  /** How much faster time passes than usual. */
  pace: number;
  /** Whether everybody is away for two days at some point. */
  hasLongNight: boolean;
  /** What the role or the database sets for its sessions. */
  settings: Readonly<Record<string, string>>;
}

const usual = {
  statements: { unsent: 0.008, unanswered: 0.01, raced: 0.01, deadlocked: 0.005, slow: 0.04 },
  mishaps: {
    crash: 0.0025,
    stop: 0.001,
    pause: 0.007,
    'clock jumps': 0.008,
    'sessions are cut': 0.003,
    'operator acts': 0.02,
    'provider grows': 0.02,
    'time leaps': 0.004,
  },
  temper: { lies: 0.2, throws: 0.12, stalls: 0.1 },
};

/** As far as a machine with a dead clock battery is off, and more than any retention or interval. */
const yearSeconds = 400 * 24 * 3600;

/** None may change anything. */
const sessionSettings: readonly Mood['settings'][] = [
  {},
  { default_transaction_isolation: 'repeatable read', DateStyle: 'German' },
  { default_transaction_isolation: 'serializable', TimeZone: 'Africa/Monrovia' },
  { DateStyle: 'SQL, DMY', TimeZone: 'Asia/Kathmandu', extra_float_digits: '-15' },
];

/**
 * Not everything at once: what one fault hides, another simulation shows. Each kind is away in a third of them, and the more
 * frequent in others.
 */
export function drawMood(random: Random): Mood {
  const poison = random.fork('poison');
  const drawn = <Name extends string>(chances: Record<Name, number>) =>
    Object.fromEntries(
      Object.entries<number>(chances).map(([name, chance]) => [
        name,
        random.chance(1 / 3) ? 0 : chance * random.pick([0.5, 1, 2]),
      ]),
    ) as Record<Name, number>;
  const jumpSeconds = random.pick([90, 90, 90, 600, yearSeconds]);
  return {
    statements: drawn(usual.statements),
    mishaps: drawn(usual.mishaps),
    temper: { ...drawn(usual.temper), poisonous: poison.chance(0.1) ? 2 : 0 },
    hasNotifications: random.chance(0.6),
    jumpSeconds,
    startsSkewed: jumpSeconds === yearSeconds,
    pace: random.pick([0.5, 2, 2]),
    hasLongNight: random.chance(0.05),
    settings: random.pick(sessionSettings),
  };
}

/** Short intervals and leases, so that much happens in little time. */
export function drawConfig(random: Random, { jumpSeconds }: Mood) {
  // Where it may take long until everything is done, nobody is to beat and to look every second until then.
  const isSlow = jumpSeconds === 600;
  return {
    scheduler: {
      tickIntervalSeconds: random.pick([10, 20, 60]),
      defaultIntervalSeconds: random.pick([60, 90, 120]),
      jitterPctMin: random.pick([0, 0.05]),
      jitterPctMax: random.pick([0.05, 0.2]),
      batchSize: random.pick([1, 2, 10]),
      maxOverriddenIntervalSeconds: 3600,
    },
    executor: {
      concurrency: random.whole(1, 4),
      claimBatch: random.whole(1, 4),
      leaseSeconds: isSlow ? 30 : random.pick([8, 8, 20, 30]),
      pollIntervalMs: isSlow ? 20_000 : random.pick([5000, 15_000]),
      maxRunSeconds: random.pick([10, 40]),
      shutdownGraceSeconds: random.pick([0, 2, 10]),
    },
    rateLimit: { baseSeconds: random.pick([1, 5]), maxSeconds: 30, jitterFactor: 0.1 },
    retention: { endedJobsDays: 1 },
  } satisfies ConfigOptions;
}

export type SimulatedConfig = ReturnType<typeof drawConfig>;
