import { createHash } from 'node:crypto';
import { types } from 'node:util';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Connector, SignalSchemas } from '../contract/connector.ts';
import { describeError, refusalMessage } from '../contract/errors.ts';
import type { Wait } from '../contract/retry-after.ts';
import { inSlices } from '../platform/slices.ts';
import { isCalendarDay } from '../values/instant.ts';
import { isObject } from '../values/is-object.ts';
import { maxDepth, maxResult } from '../values/limits.ts';
import { exceedsDepthText } from '../values/nesting.ts';
import { check, problemOf } from '../values/standard-schema.ts';
import { suggestion, unknownKey } from '../values/suggest.ts';

export interface CheckedSignal {
  kind: string;
  occurredAt: string;
  /** JSON text that `jsonb` accepts. */
  payload: string;
  dedupeKey: string | null;
}

export interface Page {
  signals: CheckedSignal[];
  /** JSON text. */
  nextCursor: string | undefined;
  hasMore: boolean;
  retryAfterSeconds: Wait;
  bytes: number;
  /** Signals with replaced data. */
  cleaned: number;
}

const resultKeys = ['signals', 'nextCursor', 'hasMore', 'retryAfterSeconds'];
const signalKeys = ['kind', 'occurredAt', 'payload', 'dedupeKey'];

class InvalidResultError extends Error {
  override name = 'InvalidResultError';
}

/** EXE-8, EXE-11. */
export async function checkResult(result: unknown, connector: Connector): Promise<Page> {
  if (!isObject(result)) throw wrong('the result', result, 'an object { signals, nextCursor, hasMore }');
  rejectUnknownKey('the result', result, resultKeys);
  const { signals, nextCursor, hasMore, retryAfterSeconds } = result;
  if (!Array.isArray(signals)) throw wrong('signals', signals, 'an array');
  // Once: the connector may still append.
  const count = signals.length;
  if (!(count <= maxResult.signals))
    throw tooLarge('signals', `${count} signals`, `${maxResult.signals}`, smallerPages);
  if (hasMore !== undefined && typeof hasMore !== 'boolean') throw wrong('hasMore', hasMore, 'true or false');
  if (!isWait(retryAfterSeconds))
    throw wrong('retryAfterSeconds', retryAfterSeconds, 'a number of seconds, 0 or more, or text');

  const page: Page = {
    signals: [],
    nextCursor: cursorText(nextCursor),
    hasMore: hasMore === true,
    retryAfterSeconds,
    bytes: 0,
    cleaned: 0,
  };
  if (connector.cursorSchema && page.nextCursor !== undefined)
    await checkCursor(connector.cursorSchema, nextCursor);
  await inSlices<unknown>(
    signals,
    (signal, i) => addSignal(page, signal, `signals[${i}]`, connector.signalSchemas),
    count,
  );
  return page;
}

/** Any text: a provider's unreadable header must not block the page. */
function isWait(value: unknown): value is Wait {
  if (value === undefined || value === null || typeof value === 'string') return true;
  return typeof value === 'number' && value >= 0;
}

const smallerPages = ' Return smaller pages with hasMore.';

function cursorText(cursor: unknown): string | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  const json = toJson(cursor, 'nextCursor');
  // Not cleaned: a changed cursor would point elsewhere.
  if (isRejected(json) && JSON.stringify(cleanValue(JSON.parse(json))) !== json)
    throw new InvalidResultError(
      'nextCursor contains a NUL character or a lone surrogate, which Postgres cannot store.',
    );
  const bytes = Buffer.byteLength(json);
  if (bytes > maxResult.cursorBytes)
    throw tooLarge('nextCursor', `${bytes} bytes`, `${maxResult.cursorBytes}`);
  return json;
}

async function checkCursor(schema: StandardSchemaV1, cursor: unknown): Promise<void> {
  const { problem } = await check(schema, cursor);
  if (problem) throw new InvalidResultError(`nextCursor does not match the cursor schema: ${problem}.`);
}

/** A promise only for asynchronous schemas. */
function addSignal(
  page: Page,
  signal: unknown,
  at: string,
  schemas: SignalSchemas | undefined,
): undefined | Promise<void> {
  if (!isObject(signal)) throw wrong(at, signal, 'an object { kind, occurredAt, payload, dedupeKey }');
  rejectUnknownKey(at, signal, signalKeys);
  const { kind, occurredAt, payload, dedupeKey } = signal;
  if (typeof kind !== 'string' || kind.length === 0 || kind.length > maxResult.kindLength)
    throw wrong(`${at}.kind`, kind, `text of 1 to ${maxResult.kindLength} characters`);
  if (dedupeKey !== undefined && dedupeKey !== null && (typeof dedupeKey !== 'string' || dedupeKey === ''))
    throw wrong(`${at}.dedupeKey`, dedupeKey, 'text, or absent');

  const json = cleanJson(payload, `${at}.payload`);
  const cleanKind = cleanText(kind);
  page.signals.push({
    kind: cleanKind,
    occurredAt: toInstant(occurredAt, `${at}.occurredAt`),
    payload: json.text,
    dedupeKey: typeof dedupeKey === 'string' ? shortKey(dedupeKey) : null,
  });
  page.bytes += json.text.length;
  if (json.cleaned || cleanKind !== kind) page.cleaned++;
  if (page.bytes > maxResult.pageBytes)
    throw tooLarge('signals', `${page.bytes} bytes`, `${maxResult.pageBytes}`, smallerPages);
  // Last: JSON bounds the depth a schema reads.
  return schemas && checkPayload(schemas, kind, payload, at);
}

function checkPayload(
  schemas: SignalSchemas,
  kind: string,
  payload: unknown,
  at: string,
): undefined | Promise<void> {
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (!schema)
    throw new InvalidResultError(
      `${at}.kind ${shown(kind)} is not declared in signalSchemas. ${suggestion(kind, Object.keys(schemas))}`,
    );
  const requireValid = ({ issues }: StandardSchemaV1.Result<unknown>): undefined => {
    if (!issues) return;
    const problem = problemOf(issues);
    throw new InvalidResultError(`${at}.payload does not match the schema of "${kind}": ${problem}.`);
  };
  const result = schema['~standard'].validate(payload);
  return result instanceof Promise ? result.then(requireValid) : requireValid(result);
}

/** EXE-11: U+FFFD for NUL and lone surrogates, `$oversize` for an oversize payload. */
function cleanJson(payload: unknown, at: string): { text: string; cleaned: boolean } {
  const text = toJson(payload, at);
  const bytes = text.length > maxResult.payloadBytes / 3 ? Buffer.byteLength(text) : text.length;
  if (bytes > maxResult.payloadBytes)
    return { text: JSON.stringify({ $oversize: { bytes, limit: maxResult.payloadBytes } }), cleaned: true };
  if (!isRejected(text)) return { text, cleaned: false };
  return { text: JSON.stringify(cleanValue(JSON.parse(text))), cleaned: true };
}

/** `jsonb` rejects these; false positives (an escaped backslash) are harmless. */
const isRejected = (json: string) => /\\u(?:0000|d[89a-f])/.test(json);

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanValue(inner)]));
}

/** UTF-8 replaces lone surrogates. */
const cleanText = (text: string) => Buffer.from(text).toString().replaceAll('\0', '\uFFFD');

function shortKey(key: string): string {
  const clean = cleanText(key);
  if (Buffer.byteLength(clean) <= maxResult.dedupeKeyBytes) return clean;
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** Times need an offset. */
const isoInstant = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/;

function isIsoInstant(value: unknown): value is string {
  const match = typeof value === 'string' ? isoInstant.exec(value) : null;
  return match !== null && isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3]));
}

function toInstant(value: unknown, at: string): string {
  // `instanceof` accepts other objects with Date's prototype.
  const date = types.isDate(value) || isIsoInstant(value) ? new Date(value) : undefined;
  const year = date?.getUTCFullYear();
  if (!date || !year || year < 1 || year > 9999)
    throw wrong(at, value, 'a Date, or ISO-8601 text such as 2025-01-01T12:00:00Z');
  return date.toISOString();
}

function toJson(value: unknown, at: string): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw new InvalidResultError(`${at} cannot be written as JSON: ${describeError(error)}`);
  }
  if (json === undefined) throw wrong(at, value, 'something that can be written as JSON');
  if (exceedsDepthText(json, maxDepth.result))
    throw new InvalidResultError(`${at} is nested deeper than ${maxDepth.result} levels.`);
  return json;
}

function rejectUnknownKey(what: string, value: object, known: readonly string[]): void {
  const found = unknownKey(value, known);
  if (found) throw new InvalidResultError(`${what} has ${found}`);
}

function wrong(what: string, value: unknown, expected: string): InvalidResultError {
  return new InvalidResultError(refusalMessage({ field: what, expected, value: shown(value) }));
}

function tooLarge(what: string, size: string, max: string, hint = ''): InvalidResultError {
  return new InvalidResultError(`${what} has ${size}; at most ${max} are allowed.${hint}`);
}

function shown(value: unknown): string {
  if (value instanceof Date) return 'an invalid Date';
  if (typeof value === 'string') return value.length > 80 ? `"${value.slice(0, 80)}…"` : `"${value}"`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}
