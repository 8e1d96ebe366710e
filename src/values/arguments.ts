import { describeError, invalidArgument, SynclineError } from '../contract/errors.ts';
import { nearest } from './suggest.ts';
import { findUnstorable } from './unstorable.ts';
import { uuidPattern } from './uuid.ts';

/** For one argument's value, see `invalidArgument`. */
export function invalid(message: string, hint?: string): SynclineError {
  return new SynclineError('INVALID_ARGUMENT', message, hint === undefined ? {} : { hint });
}

export function notFound(what: string, hint?: string): SynclineError {
  return new SynclineError('NOT_FOUND', `There is no ${what}.`, hint === undefined ? {} : { hint });
}

export function providerNotFound(slug: string): SynclineError {
  return new SynclineError('PROVIDER_NOT_FOUND', `There is no provider "${slug}".`, {
    hint: 'Register it first.',
  });
}

export function requireUuid(name: string, value: unknown): void {
  if (typeof value !== 'string' || !uuidPattern.test(value))
    throw invalidArgument({ field: name, expected: 'a UUID', value: show(value) });
}

export function requireWhole(name: string, value: unknown, min: number, max: number): void {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
    throw invalidArgument({
      field: name,
      expected: `a whole number from ${min} to ${max}`,
      value: show(value),
    });
}

export function requireOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (typeof value === 'string' && allowed.includes(value)) return;
  const closest = typeof value === 'string' ? nearest(value, allowed) : undefined;
  throw invalidArgument({
    field: name,
    expected: `one of ${allowed.join(', ')}`,
    value: show(value),
    hint: closest && `Did you mean ${closest}?`,
  });
}

export function requireText(name: string, value: unknown, maxLength: number): void {
  const isText = typeof value === 'string' && value.trim() !== '' && value.length <= maxLength;
  if (!isText || /[\0\p{Surrogate}]/u.test(value))
    throw invalidArgument({
      field: name,
      expected: `text of 1 to ${maxLength} characters`,
      value: show(value),
    });
}

export function show(value: unknown): string {
  return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, 80);
}

/** Lists hold it in memory. */
export function requireSmall(name: string, value: unknown, maxBytes: number): void {
  const json = jsonOf(name, value);
  if (json === undefined) return;
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes)
    throw invalidArgument({
      field: name,
      expected: `at most ${maxBytes} bytes of JSON`,
      value: `${bytes} bytes`,
    });
  const found = findUnstorable(JSON.parse(json), name);
  if (found)
    throw invalidArgument({
      field: name,
      expected: 'JSON that Postgres can store',
      value: `${found.path.slice(0, 200)}, which ${found.message}`,
    });
}

function jsonOf(name: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalidArgument({
      field: name,
      expected: `serializable as JSON: ${describeError(error)}`,
    });
  }
}
