import type { ConfigOptions } from '../../src/index.ts';
import type { ProviderFaults } from './fake-provider.ts';
import type { Random } from './random.ts';
import type { StatementFault } from './step-scheduler.ts';

export type FaultKind =
  | 'crash'
  | 'stop'
  | 'pause'
  | 'clock jumps'
  | 'sessions are cut'
  | 'operator acts'
  | 'provider grows'
  | 'time leaps';

export interface FaultProfile {
  statementFaults: Record<Exclude<StatementFault, 'none'>, number>;
  stepFaults: Record<FaultKind, number>;
  providerFaults: ProviderFaults;
  /** False simulates a transaction pooler, which delivers no notifications. */
  hasNotifications: boolean;
  jumpSeconds: number;
  /** Clocks are wrong by this much from the start. */
  startsSkewed: boolean;
  pace: number;
  /** Two days pass without a step. */
  hasLongOutage: boolean;
  settings: Readonly<Record<string, string>>;
}

const defaults = {
  statementFaults: { unsent: 0.008, unanswered: 0.01, raced: 0.01, deadlocked: 0.005, slow: 0.04 },
  stepFaults: {
    crash: 0.0025,
    stop: 0.001,
    pause: 0.007,
    'clock jumps': 0.008,
    'sessions are cut': 0.003,
    'operator acts': 0.02,
    'provider grows': 0.02,
    'time leaps': 0.004,
  },
  providerFaults: { wrongPages: 0.2, errors: 0.12, stalls: 0.1 },
};

/** More than any retention or interval. */
const yearSeconds = 400 * 24 * 3600;

/** None of these may change the behaviour of the engine. */
const sessionSettings: readonly FaultProfile['settings'][] = [
  {},
  { default_transaction_isolation: 'repeatable read', DateStyle: 'German' },
  { default_transaction_isolation: 'serializable', TimeZone: 'Africa/Monrovia' },
  { DateStyle: 'SQL, DMY', TimeZone: 'Asia/Kathmandu', extra_float_digits: '-15' },
];

/**
 * Each kind is absent from a third of the simulations, because one fault can hide the effect of another. Fork
 * names are part of the seed: do not rename them.
 */
export function drawFaultProfile(random: Random): FaultProfile {
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
    statementFaults: drawn(defaults.statementFaults),
    stepFaults: drawn(defaults.stepFaults),
    providerFaults: { ...drawn(defaults.providerFaults), poisonedAccounts: poison.chance(0.1) ? 2 : 0 },
    hasNotifications: random.chance(0.6),
    jumpSeconds,
    startsSkewed: jumpSeconds === yearSeconds,
    pace: random.pick([0.5, 2, 2]),
    hasLongOutage: random.chance(0.05),
    settings: random.pick(sessionSettings),
  };
}

/** Short intervals and leases keep simulations short. */
export function drawConfig(random: Random, { jumpSeconds }: FaultProfile) {
  // Large clock jumps make the quiet phase long; slow heartbeats and polls then bound the number of steps.
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
      concurrency: random.integer(1, 4),
      claimBatch: random.integer(1, 4),
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
