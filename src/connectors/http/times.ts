import { PermanentError } from '../../connector-kit/index.ts';
import { type CursorDescription, type Format, timeFormats } from './description.ts';

export type Position = string | number;

const isTimeFormat = (format: Format) => (timeFormats as readonly string[]).includes(format);
export const isTime = ({ format = 'iso' }: CursorDescription): boolean => isTimeFormat(format);

/** Without an offset, UTC on every machine. */
export function parseTime(value: unknown): number | undefined {
  if (typeof value === 'number' || (typeof value === 'string' && /^\d{9,16}(\.\d+)?$/.test(value))) {
    const number = Number(value);
    return inRange(number >= firstEpochMs ? Math.floor(number) : Math.floor(number * 1000));
  }
  if (typeof value !== 'string') return undefined;
  const [, day, time, offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i.exec(
      value.trim(),
    ) ?? [];
  if (!day) return undefined;
  return inRange(Date.parse(`${day}T${time ?? '00:00'}${fullOffset(offset)}`));
}

/** Milliseconds from here on: as seconds, after the year 33658. */
const firstEpochMs = 1_000_000_000_000;
const maxTimeMs = Date.parse('9999-12-31T23:59:59.999Z');
const minTimeMs = Date.parse('0001-01-01T00:00:00Z');
const inRange = (ms: number) => (ms >= minTimeMs && ms <= maxTimeMs ? ms : undefined);

function fullOffset(offset: string | undefined): string {
  if (!offset || /^z$/i.test(offset)) return 'Z';
  const digits = offset.replace(':', '').padEnd(5, '0');
  return `${digits.slice(0, 3)}:${digits.slice(3)}`;
}

export function toPosition(cursor: CursorDescription, value: unknown, where: string): Position | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const position = parsePosition(cursor.format ?? 'iso', value);
  if (position === undefined)
    throw new PermanentError(
      `${where}: ${cursor.path} is ${preview(value)}, which is not in the format ${cursor.format ?? 'iso'}.`,
    );
  return position;
}

export function parsePosition(format: Format, value: unknown): Position | undefined {
  if (isTimeFormat(format)) {
    const ms = parseTime(isEpoch(format) ? epochMs(format, value) : value);
    return ms === undefined ? undefined : new Date(ms).toISOString();
  }
  if (format === 'text')
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

const isEpoch = (format: Format) => format === 'epoch_seconds' || format === 'epoch_ms';

function epochMs(format: Format, value: unknown): string | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
  const ms = Math.floor(format === 'epoch_seconds' ? number * 1000 : number);
  return inRange(ms) === undefined ? undefined : new Date(ms).toISOString();
}

export function compare(a: Position, b: Position): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

export function later(a: Position | undefined, b: Position | undefined): Position | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compare(a, b) >= 0 ? a : b;
}

/** Exclusive filters start one unit earlier. */
export function formatPosition(
  cursor: CursorDescription,
  position: Position,
  lookbackSeconds = 0,
): string | number {
  const format = cursor.sendAs ?? cursor.format ?? 'iso';
  if (!isTime(cursor))
    return typeof position === 'number' && cursor.inclusive === false ? position - 1 : position;
  const ms = Date.parse(String(position)) - lookbackSeconds * 1000;
  return timeAs(format, cursor.inclusive === false ? ms - unitMs[format as keyof typeof unitMs] : ms);
}

const unitMs = { iso: 1, epoch_ms: 1, iso_seconds: 1000, epoch_seconds: 1000, date: 86_400_000 };

export function timeAs(format: Format, requestedMs: number): string | number {
  const ms = Math.max(requestedMs, minTimeMs);
  switch (format) {
    case 'epoch_ms':
      return ms;
    case 'epoch_seconds':
      return Math.floor(ms / 1000);
    case 'date':
      return new Date(ms).toISOString().slice(0, 10);
    case 'iso_seconds':
      return `${new Date(ms).toISOString().slice(0, 19)}Z`;
    default:
      return new Date(ms).toISOString();
  }
}

export const preview = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, 60);
