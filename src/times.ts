import { lasting } from './explain.ts';
import { systemPorts } from './ports.ts';

/** For JSON. Postgres knows times that no Date can be, such as `infinity`; those count as absent. */
export function isoTime(at: Date | undefined): string | null {
  return isTime(at) ? at.toISOString() : null;
}

/** For people: how long ago, or how far ahead. */
export function relativeTime(at: Date | undefined, nowMs = systemPorts.now()): string {
  if (!isTime(at)) return '-';
  const ms = at.getTime() - nowMs;
  return ms > 0 ? `in ${lasting(ms)}` : `${lasting(-ms)} ago`;
}

/** Both, where there is room. */
export function fullTime(at: Date | undefined): string {
  return isTime(at) ? `${at.toISOString()} (${relativeTime(at)})` : '-';
}

function isTime(at: Date | undefined): at is Date {
  return at instanceof Date && Number.isFinite(at.getTime());
}
