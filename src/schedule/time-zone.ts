import { LRUCache } from 'lru-cache';

/**
 * Wall times are local times in milliseconds, as if UTC. Their instant is the first at which the clock shows
 * that time or a later one: the end of a spring gap, the first pass of a repeated time.
 */
export interface TimeZone {
  /** The latest wall time up to `ms`. */
  wallAt(ms: number): number;
  instantOf(wallMs: number): number;
}

const dayMs = 86_400_000;

/** Names only: an offset such as +02:00 has no daylight saving. */
const namePattern = /^[A-Za-z][A-Za-z0-9_+/-]{0,49}$/;

/** A formatter takes 50 µs and several kilobytes; about 600 zones exist. */
const zones = new LRUCache<string, TimeZone>({ max: 600 });

/** Unknown to this runtime. */
export function timeZone(name: string): TimeZone | undefined {
  const known = zones.get(name);
  if (known) return known;
  const offsetAt = namePattern.test(name) ? offsetsOf(name) : undefined;
  if (!offsetAt) return undefined;
  const zone = { wallAt: wallClock(offsetAt), instantOf: instants(offsetAt) };
  zones.set(name, zone);
  return zone;
}

type OffsetAt = (ms: number) => number;

function offsetsOf(name: string): OffsetAt | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    return (ms) => parseOffset(format.format(ms));
  } catch {
    return undefined;
  }
}

/** `3/29/2026, GMT+02:00`; UTC itself may be `GMT`. */
function parseOffset(text: string): number {
  const match = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text);
  if (!match) return 0;
  const [, sign, hours, minutes, seconds = 0] = match;
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ms : ms;
}

const wallClock = (offsetAt: OffsetAt) => (ms: number) => {
  const wallMs = ms + offsetAt(ms);
  const before = offsetAt(ms - dayMs);
  if (before <= offsetAt(ms)) return wallMs;
  // A clock set back within a day has shown later times.
  return Math.max(wallMs, firstWith(offsetAt, offsetAt(ms), ms - dayMs, ms) + before - 1);
};

/** Offsets are at most 14 hours: two days enclose a transition. */
const instants = (offsetAt: OffsetAt) => (wallMs: number) => {
  const before = offsetAt(wallMs - dayMs);
  const after = offsetAt(wallMs + dayMs);
  if (offsetAt(wallMs - before) === before) return wallMs - before;
  if (offsetAt(wallMs - after) === after) return wallMs - after;
  return firstWith(offsetAt, after, wallMs - after, wallMs - before);
};

/** Bisects `(fromMs, toMs]`. */
function firstWith(offsetAt: OffsetAt, offset: number, fromMs: number, toMs: number): number {
  let [low, high] = [fromMs, toMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}

export const knownTimeZones = (): readonly string[] => Intl.supportedValuesOf('timeZone');
