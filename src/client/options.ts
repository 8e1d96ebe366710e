import { invalidArgument, SynclineError } from '../contract/errors.ts';
import { sleep } from './sleep.ts';

/** Where the API is, and how to authenticate. */
export interface ClientOptions {
  /** Such as `http://localhost:4400`, with the mount path. */
  baseUrl: string | URL;
  /** Default: the dashboard's session cookie, in browsers at the same origin. */
  apiKey?: string | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Of a GET after 429 or 503. 0 to 10, default 3. */
  maxRetries?: number | undefined;
  /** A longer `Retry-After` fails immediately. 0 to 300, default 30. */
  maxRetryAfterSeconds?: number | undefined;
  /** Waits between retries, for tests. Default: a timer. */
  sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

export interface CheckedOptions {
  /** Without a trailing slash. */
  base: string;
  apiKey: string | undefined;
  fetch: typeof fetch;
  maxRetries: number;
  maxRetryAfterSeconds: number;
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

const names = ['baseUrl', 'apiKey', 'fetch', 'maxRetries', 'maxRetryAfterSeconds', 'sleep'];

export function checkedOptions(options: ClientOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null)
    throw invalidArgument({
      field: 'options',
      expected: 'an object such as { baseUrl, apiKey }',
      value: String(options),
    });
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new SynclineError('INVALID_ARGUMENT', `There is no option ${unknown}.`, {
      field: unknown,
      hint: `Options are ${names.join(', ')}.`,
    });
  const { apiKey, maxRetries = 3, maxRetryAfterSeconds = 30 } = options;
  return {
    base: baseOf(options.baseUrl),
    apiKey: apiKey === undefined ? undefined : keyOf(apiKey),
    // Called without a receiver: browsers reject a method of another object.
    fetch: functionOf('fetch', options.fetch) ?? ((...request) => globalThis.fetch(...request)),
    maxRetries: wholeOf('maxRetries', maxRetries, 10),
    maxRetryAfterSeconds: wholeOf('maxRetryAfterSeconds', maxRetryAfterSeconds, 300),
    sleep: functionOf('sleep', options.sleep) ?? sleep,
  };
}

function baseOf(value: unknown): string {
  const text = String(value);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  // A URL may contain a password: only its beginning is shown.
  if (!isUsable || url.username !== '' || url.password !== '')
    throw invalidArgument({
      field: 'baseUrl',
      expected: 'an absolute http or https URL without user name, query and fragment',
      value: url ? `one of ${url.protocol}//${url.host}` : JSON.stringify(text.slice(0, 80)),
      hint: 'Use the address of the service, such as http://localhost:4400.',
    });
  return url.href.replace(/\/+$/, '');
}

function keyOf(value: unknown): string {
  // Not shown: it is a secret.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw invalidArgument({
      field: 'apiKey',
      expected: 'a key without spaces, such as syn_…',
      value: value === '' ? 'empty text' : typeof value === 'string' ? 'other text' : typeof value,
      hint: 'Create one with syncline keys create.',
    });
  return value;
}

function functionOf<T>(field: string, value: T | undefined): T | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidArgument({ field, expected: 'a function', value: typeof value });
}

function wholeOf(field: string, value: unknown, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw invalidArgument({ field, expected: `a whole number from 0 to ${max}`, value: String(value) });
}
