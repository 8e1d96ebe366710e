import type { Judgement } from './judge.ts';
import type { SoakOptions } from './options.ts';
import type { Plan } from './plan.ts';
import type { Sample } from './sample.ts';
import { executor } from './start-order.ts';
import type { Steady } from './steady.ts';

export interface SoakResult {
  asked: SoakOptions;
  capacityPerSecond: number;
  plan: Plan;
  executor: typeof executor;
  judgements: Judgement[];
  /** Of the whole time. */
  totals: {
    syncs: number;
    warnings: number;
    callsWithoutOutcome: number;
    violations: Steady['endViolations'];
    /** The first lines of each kind that were logged as a warning or worse and were not planned. */
    logged: string[];
  };
  /** Evenly chosen where there were many; all of them are judged. */
  samples: Sample[];
}

/** As many as a plot can show. */
const mostSamples = 120;
const mostLogged = 10;

interface Outcome {
  options: SoakOptions;
  capacity: { perSecond: number };
  plan: Plan;
  steady: Steady;
  judgements: Judgement[];
}

export function resultOf({ options, capacity, plan, steady, judgements }: Outcome): SoakResult {
  const { samples, endViolations, callsWithoutOutcome } = steady;
  const reports = samples.flatMap(({ processes }) => processes);
  const every = Math.ceil(samples.length / mostSamples);
  return {
    asked: options,
    capacityPerSecond: capacity.perSecond,
    plan,
    executor,
    judgements,
    totals: {
      syncs: Math.round(samples.reduce((sum, { syncsPerSecond }) => sum + syncsPerSecond * 60, 0)),
      warnings: reports.reduce((sum, { log }) => sum + log.warnings, 0),
      callsWithoutOutcome,
      violations: [...samples.flatMap(({ violations }) => violations), ...endViolations],
      logged: [...new Set(reports.flatMap(({ log }) => log.examples))].slice(0, mostLogged),
    },
    samples: samples.filter(({ minute }) => minute % every === 0 || minute === 1),
  };
}
