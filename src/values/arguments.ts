import { describeError, SynclineError } from '../contract/errors.ts';
import { suggestion } from './suggest.ts';
import { findUnstorable } from './unstorable.ts';

/** Errors name the argument, its value and what is allowed. */

export function invalid(message: string, hint?: string): SynclineError {
  return new SynclineError('INVALID_ARGUMENT', message, hint === undefined ? {} : { hint });
}

export function notFound(what: string, hint?: string): SynclineError {
  return new SynclineError('NOT_FOUND', `There is no ${what}.`, hint === undefined ? {} : { hint });
}

export function requireUuid(name: string, value: unknown): void {
  if (
    typeof value !== 'string' ||
    !/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(value)
  ) {
    throw invalid(`${name} is ${show(value)}; it must be a UUID.`);
  }
}

export function requireWhole(name: string, value: unknown, min: number, max: number): void {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
    throw invalid(`${name} is ${show(value)}; it must be a whole number from ${min} to ${max}.`);
}

export function requireOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (typeof value !== 'string' || !allowed.includes(value))
    throw invalid(
      `${name} is ${show(value)}; it must be one of ${allowed.join(', ')}.`,
      typeof value === 'string' ? suggestion(value, allowed) : undefined,
    );
}

export function requireText(name: string, value: unknown, maxLength: number): void {
  const isText = typeof value === 'string' && value.trim() !== '' && value.length <= maxLength;
  if (!isText || /[\0\p{Surrogate}]/u.test(value))
    throw invalid(`${name} is ${show(value)}; it must be text of 1 to ${maxLength} characters.`);
}

function show(value: unknown): string | undefined {
  return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, 80);
}

/** List pages are held in memory. Rejects JSON that Postgres cannot store. */
export function requireSmall(name: string, value: unknown, maxBytes: number): void {
  const json = jsonOf(name, value);
  if (json === undefined) return;
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes)
    throw invalid(`${name} is ${bytes} bytes of JSON; it must be at most ${maxBytes} bytes of JSON.`);
  const found = findUnstorable(JSON.parse(json), name);
  if (found) throw invalid(`${found.path.slice(0, 200)} ${found.message}.`);
}

function jsonOf(name: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalid(`${name} cannot be written as JSON: ${describeError(error)}`);
  }
}
