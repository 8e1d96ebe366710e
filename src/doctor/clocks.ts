import { maxSkewMs } from '../store/clock.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, type Finding, formatCount, warning } from './check.ts';
import { liveProcesses } from './live.ts';

export const isSkewed = (seconds: number) => Math.abs(seconds) * 1000 > maxSkewMs;

/** DB-6: affects logs and connectors that do not use `context.clock`, no schedule. */
export function skewed(owner: string, seconds: number): Finding {
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  return warning(
    `${owner}: the clock is ${formatDuration(Math.abs(seconds) * 1000)} ${direction} the database's. ` +
      "Schedules, leases and retention follow the database's clock. " +
      "Logs, and connectors that do not use context.clock, use the machine's clock.",
    'Synchronize both clocks (NTP, chrony).',
  );
}

export const processClocks: Check = {
  name: 'clocks of processes',
  group: 'fleet',
  run: async (context) => {
    const { executors, schedulers } = await liveProcesses(context);
    const clocks = [
      ...executors.map((row) => ({ role: 'executor', ...row })),
      ...schedulers.map((row) => ({ role: 'scheduler', ...row })),
    ];
    return {
      detail: formatCount(clocks.length, 'clock', 'clocks', Number.POSITIVE_INFINITY),
      findings: clocks
        .filter((row) => isSkewed(row.clock_skew_seconds))
        .map((row) => skewed(`${row.role} ${row.host}:${row.pid}`, row.clock_skew_seconds)),
    };
  },
};
