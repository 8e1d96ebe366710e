import { systemPorts } from '../platform/ports.ts';
import { formatDuration } from '../values/duration.ts';
import { isTime } from '../values/time-text.ts';

/** `in 5 min`, `3 s ago`. */
export function relativeTime(at: Date | undefined, nowMs = systemPorts.now()): string {
  if (!isTime(at)) return '-';
  const ms = at.getTime() - nowMs;
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`;
}

export function fullTime(at: Date | undefined): string {
  return isTime(at) ? `${at.toISOString()} (${relativeTime(at)})` : '-';
}
