import type { Connection, Count } from './types.ts';

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const missing = '–';

type Maybe<Value> = Value | null | undefined;

function isNumber(value: Maybe<number>): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function number(value: Maybe<number>): string {
  return isNumber(value) ? grouped.format(value) : missing;
}

/** 10,000+ if counting stopped. */
export function count(value: Maybe<Count>): string {
  return value ? `${number(value.count)}${value.at_least ? '+' : ''}` : missing;
}

export function compact(value: Maybe<number>): string {
  if (!isNumber(value)) return missing;
  const size = Math.abs(value);
  if (size >= 1e9) return `${oneDigit.format(value / 1e9)} G`;
  if (size >= 1e6) return `${oneDigit.format(value / 1e6)} M`;
  if (size >= 1e3) return `${oneDigit.format(value / 1e3)} k`;
  return oneDigit.format(value);
}

export function plural(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** 480 ms, 3 min 20 s */
export function duration(ms: Maybe<number>): string {
  if (!isNumber(ms)) return missing;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${oneDigit.format(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pair(seconds, 60, 'min', 1, 's');
  if (seconds < 86_400) return pair(seconds, 3600, 'h', 60, 'min');
  return pair(seconds, 86_400, 'd', 3600, 'h');
}

function pair(total: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((total % large) / small);
  return `${grouped.format(Math.floor(total / large))} ${largeName}${rest ? ` ${rest} ${smallName}` : ''}`;
}

export function seconds(value: Maybe<number>): string {
  return isNumber(value) ? duration(value * 1000) : missing;
}

/** For axes. */
export function shortDuration(ms: Maybe<number>): string {
  if (!isNumber(ms)) return missing;
  if (ms === 0) return '0';
  if (ms < 1000) return `${oneDigit.format(ms)} ms`;
  if (ms < 60_000) return `${oneDigit.format(ms / 1000)} s`;
  if (ms < 3_600_000) return `${oneDigit.format(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${oneDigit.format(ms / 3_600_000)} h`;
  return `${oneDigit.format(ms / 86_400_000)} d`;
}

export function timeOf(iso: Maybe<string>): number | undefined {
  const ms = iso ? Date.parse(iso) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

/** 3 min ago, now */
export function relative(iso: Maybe<string>, nowMs: number): string {
  const at = timeOf(iso);
  if (at === undefined) return missing;
  const distanceMs = Math.abs(at - nowMs);
  if (distanceMs < 1500) return 'now';
  return at < nowMs ? `${oneUnit(distanceMs)} ago` : `in ${oneUnit(distanceMs)}`;
}

function oneUnit(ms: number): string {
  const total = Math.round(ms / 1000);
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min`;
  if (total < 172_800) return `${Math.floor(total / 3600)} h`;
  if (total < 86_400 * 60) return `${Math.floor(total / 86_400)} d`;
  if (total < 86_400 * 730) return `${Math.floor(total / (86_400 * 30))} months`;
  return `${Math.floor(total / (86_400 * 365))} years`;
}

/** 04:12; "due" when past. */
export function countdown(iso: Maybe<string>, nowMs: number): string {
  const at = timeOf(iso);
  if (at === undefined) return missing;
  const left = Math.floor((at - nowMs) / 1000);
  if (left <= 0) return 'due';
  if (left >= 86_400) return duration(left * 1000);
  const hours = Math.floor(left / 3600);
  const clock = `${pad2(Math.floor((left % 3600) / 60))}:${pad2(left % 60)}`;
  return hours ? `${hours}:${clock}` : clock;
}

function pad2(value: number): string {
  return String(value).padStart(2, '0');
}

/** With the date, unless today. */
export function clockTime(iso: Maybe<string>, nowMs: number): string {
  const at = timeOf(iso);
  if (at === undefined) return missing;
  const date = new Date(at);
  const time = `${pad2(date.getHours())}:${pad2(date.getMinutes())}:${pad2(date.getSeconds())}`;
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`;
}

export function bytes(value: Maybe<number>): string {
  if (!isNumber(value)) return missing;
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${oneDigit.format(size)} ${units[unit]}`;
}

export function share(part: Maybe<number>, whole: Maybe<number>): string {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return missing;
  return `${oneDigit.format((100 * part) / whole)} %`;
}

/** UUIDv7 ids start with the time. */
export function shortId(id: Maybe<string>): string {
  if (!id) return missing;
  return id.length > 12 ? id.slice(-8) : id;
}

export function words(name: Maybe<string>): string {
  return name ? name.replaceAll('_', ' ') : missing;
}

/** `06:00, 18:00 on mon, fri (UTC)`. */
export function scheduleText(schedule: NonNullable<Connection['schedule']>): string {
  const { cron, times_of_day: times = [], days_of_week: days, time_zone } = schedule;
  return `${cron ?? `${times.join(', ')}${days ? ` on ${days.join(', ')}` : ''}`} (${time_zone})`;
}
