import type { GrowthResult } from '../growth/measure.ts';
import type { LatencyResult } from '../latency/measure.ts';
import type { ManySchedulesResult } from '../many-schedules/measure.ts';
import type { Contest } from '../tools/contest.ts';
import type { Measured } from '../tools/results.ts';
import { bareJobs } from './bare-jobs.ts';
import { growth } from './growth.ts';
import { latency } from './latency.ts';
import { limit } from './limit.ts';
import { manySchedules } from './many-schedules.ts';
import { realJob } from './real-job.ts';
import { type Section, sectionOf } from './section.ts';

export type Read = <Result extends object>(name: string) => (Measured & Result) | undefined;

/** All of the page, in its order. */
export function sectionsOf(read: Read): Section[] {
  return [
    sectionOf('Bare jobs', read<Contest>('bare-jobs'), bareJobs),
    sectionOf('The real job', read<Contest>('real-job'), realJob),
    sectionOf('Many schedules', read<ManySchedulesResult>('many-schedules'), manySchedules),
    sectionOf('The limit', read<Contest>('limit'), limit),
    sectionOf('Latency', read<LatencyResult>('latency'), latency),
    sectionOf('Growth', read<GrowthResult>('growth'), growth),
  ];
}
