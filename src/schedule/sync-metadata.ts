import { parseInstant } from '../values/instant.ts';
import { isObject } from '../values/is-object.ts';
import { type IntervalBounds, isAllowedInterval, minIntervalSeconds } from './interval.ts';

/** Any writer may have set these. */
export interface RawSync {
  interval_seconds?: unknown;
  next_run_at?: unknown;
  first_activated_at?: unknown;
  last_jitter_seconds?: unknown;
}

/** JSON text, truncated: any writer may have set these. */
export type SyncTexts = Record<keyof RawSync, string | null>;

export function syncOf(metadata: unknown): Record<string, unknown> {
  const sync = isObject(metadata) ? metadata['sync'] : undefined;
  return isObject(sync) ? sync : {};
}

/** Counts as absent. */
export interface InvalidField {
  field: string;
  /** Truncated for the log. */
  value: string;
  expected: string;
}

export interface SyncMetadata {
  intervalSeconds: number | undefined;
  nextRunAtMs: number | undefined;
  firstActivatedAtMs: number | undefined;
  lastJitterSeconds: number | undefined;
  invalid: InvalidField[];
}

const instantExpected = 'an ISO-8601 UTC instant such as 2025-01-01T12:00:00Z';

/** DB-3: never throws. */
export function readSyncMetadata(sync: RawSync, bounds: IntervalBounds): SyncMetadata {
  const invalid: InvalidField[] = [];
  const read = <T>(
    field: keyof RawSync,
    parse: (value: unknown) => T | undefined,
    expected: string,
  ): T | undefined => {
    const value = sync[field];
    // Many writers use null for "not set".
    if (value === undefined || value === null) return undefined;
    const parsed = parse(value);
    if (parsed === undefined) invalid.push(invalidField(field, value, expected));
    return parsed;
  };
  return {
    intervalSeconds: read(
      'interval_seconds',
      (value) => (isAllowedInterval(value, bounds) ? value : undefined),
      allowedInterval(bounds),
    ),
    nextRunAtMs: read('next_run_at', parseInstant, instantExpected),
    firstActivatedAtMs: read('first_activated_at', parseInstant, instantExpected),
    lastJitterSeconds: read('last_jitter_seconds', wholeSeconds, 'a whole number of seconds, 0 or more'),
    invalid,
  };
}

export function readSyncTexts(texts: SyncTexts, bounds: IntervalBounds): SyncMetadata {
  return readSyncMetadata(
    {
      interval_seconds: parseTruncated(texts.interval_seconds),
      next_run_at: parseTruncated(texts.next_run_at),
      first_activated_at: parseTruncated(texts.first_activated_at),
      last_jitter_seconds: parseTruncated(texts.last_jitter_seconds),
    },
    bounds,
  );
}

/** Truncated JSON fails validation as text. */
export function parseTruncated(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function allowedInterval({ maxOverriddenIntervalSeconds }: IntervalBounds): string {
  return `a whole number of seconds from ${minIntervalSeconds} to ${maxOverriddenIntervalSeconds}`;
}

export function invalidField(field: string, value: unknown, expected: string): InvalidField {
  return { field, value: (JSON.stringify(value) ?? String(value)).slice(0, 80), expected };
}

function wholeSeconds(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
