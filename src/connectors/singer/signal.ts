import { createHash } from 'node:crypto';
import type { Signal } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import type { RecordMessage, SchemaMessage } from './message.ts';

/** Undefined skips the record. */
export type RecordMap = (stream: string, record: Record<string, unknown>) => Signal | undefined;

export function signalOf(
  message: RecordMessage,
  schema: SchemaMessage,
  hash: string,
  { map, now }: { map: RecordMap | undefined; now: () => number },
): Signal | undefined {
  const { stream, record } = message;
  const dedupeKey = `${JSON.stringify([stream, ...schema.keys.map((key) => record[key] ?? null)])}:${hash}`;
  if (map) {
    const signal = map(stream, record);
    return signal && { ...signal, dedupeKey: signal.dedupeKey ?? dedupeKey };
  }
  return {
    kind: `${stream}.record`,
    occurredAt: occurredAt(message, schema, now),
    payload: record,
    dedupeKey,
  };
}

function occurredAt(
  { timeExtracted, record }: RecordMessage,
  { bookmarks }: SchemaMessage,
  now: () => number,
): Date {
  const candidates = [timeExtracted, ...bookmarks.map((column) => record[column])];
  return candidates.map(instantOf).find((instant) => instant !== undefined) ?? new Date(now());
}

const isoLike = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/** Without an offset, UTC. */
function instantOf(value: unknown): Date | undefined {
  const [, day, time = '00:00', offset = 'Z'] = (typeof value === 'string' && isoLike.exec(value)) || [];
  const date = new Date(`${day}T${time}${offset}`);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1 ? undefined : date;
}

/** Independent of key order. */
export const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)) ?? '')
    .digest('hex');

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  // Pairs: "1" and "__proto__" behave differently as object keys.
  return names.map((name) => [name, sorted(value[name])]);
}
