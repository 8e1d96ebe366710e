import type { z } from 'zod';
import {
  CursorExpiredError,
  describeError,
  PermanentError,
  RateLimitedError,
  TransientError,
  UnauthorizedError,
} from '../../errors.ts';
import type { AccountContext } from './account.ts';

export interface Page<Body> {
  /** Undefined where nothing has changed (304). */
  body: Body | undefined;
  headers: Headers;
}

export interface Get<Schema extends z.ZodType> {
  /** Where the provider's API begins. */
  baseUrl: string;
  /** Path and query below it. */
  path: string;
  headers?: Record<string, string>;
  schema: Schema;
  /** How many items a page has, for the log. */
  count: (body: z.output<Schema>) => number;
}

/** Gets a page, says what came back, and throws what the engine understands for everything that is no page. */
export async function getPage<Schema extends z.ZodType>(
  { connection, abortSignal, log }: AccountContext,
  { baseUrl, path, headers, schema, count }: Get<Schema>,
): Promise<Page<z.output<Schema>>> {
  const request = `GET ${readable(path)}`;
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { ...headers, authorization: `Bearer ${connection.config.token}` },
    signal: abortSignal,
  }).catch((error: unknown) => {
    throw abortSignal.aborted
      ? error
      : new TransientError(`${request}: ${reasonOf(error)}`, { cause: error });
  });
  if (response.status === 304) {
    log.info(`${request} → 304, nothing has changed`);
    return { body: undefined, headers: response.headers };
  }
  if (!response.ok) {
    // Read to its end, or its socket could not be used again.
    await response.text();
    log.info(`${request} → ${response.status}`);
    throw errorOf(response, request);
  }
  const parsed = schema.safeParse(await response.json());
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new PermanentError(
      `${request}: not what was expected: ${issue?.path.join('.')}: ${issue?.message}`,
    );
  }
  const items = count(parsed.data);
  log.info(`${request} → ${response.status}, ${items} ${items === 1 ? 'item' : 'items'}`);
  return { body: parsed.data, headers: response.headers };
}

function errorOf({ status, headers }: Response, request: string): Error {
  const said = `${request} was answered with ${status}.`;
  const isLimit = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
  if (status === 429 || (status === 403 && isLimit))
    return new RateLimitedError({ retryAfterSeconds: retryAfterSeconds(headers) });
  if (status === 401) return new UnauthorizedError(`The provider refuses the token: ${said}`);
  if (status === 410) return new CursorExpiredError(`The provider no longer accepts the cursor: ${said}`);
  return status >= 500 ? new TransientError(said) : new PermanentError(said);
}

/** What it asks for, or the time until its budget starts anew, by its own clock. */
function retryAfterSeconds(headers: Headers): number | undefined {
  const [asked, reset, date] = ['retry-after', 'x-ratelimit-reset', 'date'].map((name) => headers.get(name));
  if (asked) return Number(asked);
  if (!reset || !date) return undefined;
  return Math.max(1, Number(reset) - Date.parse(date) / 1000);
}

/** Without escapes, and tokens that nobody can read cut short. */
function readable(path: string): string {
  const [pathname = '', query] = path.split('?');
  if (!query) return decodeURIComponent(pathname);
  const parameters = [...new URLSearchParams(query)].map(
    ([name, value]) => `${name}=${value.length > 24 ? `${value.slice(0, 8)}…` : value}`,
  );
  return `${decodeURIComponent(pathname)}?${parameters.join('&')}`;
}

/** What fetch throws says only that it failed; why is in its cause. */
const reasonOf = (error: unknown) =>
  describeError(error instanceof Error && error.cause !== undefined ? error.cause : error);

/** A query of the parameters that have a value. */
export function queryOf(parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, String(value));
  return query.toString();
}
