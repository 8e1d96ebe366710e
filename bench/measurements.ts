import { measureBareJobs } from './bare-jobs/measure.ts';
import { growthScales, growthTable, measureGrowth, shortened } from './growth/measure.ts';
import { latencyScales, latencyTable, measureLatency } from './latency/measure.ts';
import { measureLimit } from './limit/measure.ts';
import { manySchedulesScales, manySchedulesTable, measureManySchedules } from './many-schedules/measure.ts';
import { measureRealJob } from './real-job/measure.ts';
import type { Bench } from './tools/bench.ts';
import type { Contest, ContestScale } from './tools/contest.ts';
import { contestTable } from './tools/standings.ts';

/** What can be asked for; each measurement takes of it what it knows. */
interface Asked {
  quick: boolean;
  who: string[] | undefined;
  rounds: number | undefined;
  jobs: number | undefined;
  minutes: number | undefined;
}

interface Outcome {
  result: object;
  table: string;
  /** Of contests: their ratios can be compared with those recorded. */
  contest?: Contest;
}

export type Measurement = (bench: Bench, asked: Asked) => Promise<Outcome>;

const quickContest: ContestScale = { jobs: 2000, rounds: 3, bestOnly: true };

/** By the names of their folders, the longest last. */
export const measurements: Record<string, Measurement> = {
  'bare-jobs': contestOf(measureBareJobs, 20_000),
  'real-job': contestOf(measureRealJob, 5000),
  limit: contestOf(measureLimit, 20_000),
  latency: async (bench, { quick }) => {
    const result = await measureLatency(bench, latencyScales[quick ? 'quick' : 'full']);
    return { result, table: latencyTable(result) };
  },
  'many-schedules': async (bench, { quick }) => {
    const result = await measureManySchedules(bench, manySchedulesScales[quick ? 'quick' : 'full']);
    return { result, table: manySchedulesTable(result) };
  },
  growth: async (bench, { quick, minutes }) => {
    const scale = growthScales[quick ? 'quick' : 'full'];
    const result = await measureGrowth(bench, minutes ? shortened(scale, minutes) : scale);
    return { result, table: growthTable(result) };
  },
};

/** Two minutes in all: enough to see whether a ratio has fallen. */
export const quickNames = ['bare-jobs', 'real-job', 'limit'];

function contestOf(
  measure: (bench: Bench, scale: ContestScale) => Promise<Contest>,
  usualJobs: number,
): Measurement {
  return async (bench, { quick, who, rounds, jobs }) => {
    const scale = quick ? quickContest : { jobs: jobs ?? usualJobs, rounds: rounds ?? 5 };
    const contest = await measure(bench, { ...scale, ...(who && { who }) });
    return { result: contest, table: contestTable(contest, 'Syncline'), contest };
  };
}
