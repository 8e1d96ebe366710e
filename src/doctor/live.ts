import { findProcesses, type ProcessRow } from '../store/processes.ts';
import { findSchedulers, maxTickAgeSeconds, type SchedulerRow } from '../store/schedulers.ts';
import type { CheckContext } from './check.ts';

export async function liveProcesses(
  context: CheckContext,
): Promise<{ executors: ProcessRow[]; schedulers: SchedulerRow[] }> {
  const { tx, now, config } = context;
  const silentSince = now.getTime() - maxTickAgeSeconds(config.scheduler.tickIntervalSeconds) * 1000;
  return {
    executors: (await findProcesses(tx, now)).filter(({ alive }) => alive),
    schedulers: (await findSchedulers(tx)).filter(({ ticked_at }) => ticked_at.getTime() > silentSince),
  };
}
