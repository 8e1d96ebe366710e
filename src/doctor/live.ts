import { findProcesses, type ProcessRow } from '../store/processes.ts';
import { findSchedulers, type SchedulerRow } from '../store/schedulers.ts';
import type { CheckContext } from './check.ts';

/** A restart misses one or two ticks. */
const maxMissedTicks = 3;
export const silenceSeconds = ({ config }: CheckContext) =>
  maxMissedTicks * config.scheduler.tickIntervalSeconds;

/** Executors with a lease, and schedulers that ticked recently. */
export async function liveProcesses(
  context: CheckContext,
): Promise<{ executors: ProcessRow[]; schedulers: SchedulerRow[] }> {
  const { tx, now } = context;
  const silentSince = now.getTime() - silenceSeconds(context) * 1000;
  return {
    executors: (await findProcesses(tx, now)).filter(({ alive }) => alive),
    schedulers: (await findSchedulers(tx)).filter(({ ticked_at }) => ticked_at.getTime() > silentSince),
  };
}
