import { systemPorts } from '../platform/ports.ts';
import { formatDuration } from '../values/duration.ts';
import { isTime } from '../values/time-text.ts';

/** How long ago, or how far ahead. */
export function relativeTime(at: Date | undefined, nowMs = systemPorts.now()): string {
  if (!isTime(at)) return '-';
  const ms = at.getTime() - nowMs;
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`;
}

/** The absolute and the relative time. */
export function fullTime(at: Date | undefined): string {
  return isTime(at) ? `${at.toISOString()} (${relativeTime(at)})` : '-';
}
