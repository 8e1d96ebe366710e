import { describeError } from '../contract/errors.ts';
import { secondsUntil } from '../contract/retry-after.ts';
import { SynclineHttpError } from './http-error.ts';
import type { CheckedOptions } from './options.ts';
import type { Problem } from './schema.ts';

export interface Call {
  method: string;
  /** With `{name}` for the values of `path`. */
  template: string;
  path?: Readonly<Record<string, string>> | undefined;
  query?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

export async function send(options: CheckedOptions, call: Call): Promise<unknown> {
  for (let retries = 0; ; retries++) {
    try {
      return await sendOnce(options, call);
    } catch (error) {
      const waitSeconds = retrySeconds(error, call, retries, options);
      if (waitSeconds === undefined) throw error;
      await options.sleep(waitSeconds * 1000, call.signal);
      call.signal?.throwIfAborted();
    }
  }
}

function retrySeconds(
  error: unknown,
  { method }: Call,
  retries: number,
  { maxRetries, maxRetryAfterSeconds }: CheckedOptions,
): number | undefined {
  const isBusy = error instanceof SynclineHttpError && (error.status === 429 || error.status === 503);
  if (!isBusy || method !== 'GET' || retries >= maxRetries) return undefined;
  const seconds = error.retryAfterSeconds ?? 2 ** retries;
  return seconds <= maxRetryAfterSeconds ? seconds : undefined;
}

async function sendOnce(options: CheckedOptions, call: Call): Promise<unknown> {
  const { method, template, body, signal } = call;
  const request = `${method} ${template}`;
  const response = await options
    .fetch(urlOf(options.base, call), {
      method,
      headers: headersOf(options.apiKey, call),
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    .catch((cause: unknown) => {
      signal?.throwIfAborted();
      const message = `${request} got no response from ${options.base}: ${describeError(cause)}.`;
      throw new SynclineHttpError(message, { request, code: 'UNREACHABLE', status: 0, cause });
    });
  if (!response.ok) throw await problemOf(response, request);
  if (response.status === 204) return undefined;
  return response.json().catch((cause: unknown) => {
    signal?.throwIfAborted();
    const message = `${request} returned ${response.status} without JSON. Check baseUrl, ${options.base}.`;
    throw new SynclineHttpError(message, {
      ...{ request, code: 'INVALID_RESPONSE', status: response.status, cause },
    });
  });
}

function urlOf(base: string, { template, path = {}, query = {} }: Call): string {
  const url = new URL(
    base +
      template.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = path[name];
        // An empty or dot segment would address another resource.
        if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
          throw new TypeError(`path.${name} of ${template} must be text that is not empty, got ${value}.`);
        return encodeURIComponent(value);
      }),
  );
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
  return url.href;
}

function headersOf(apiKey: string | undefined, { method, body }: Call): Record<string, string> {
  return {
    accept: 'application/json',
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    // Sessions require it: other sites cannot send it.
    ...(apiKey === undefined && method !== 'GET' && { 'x-syncline-request': '1' }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
}

async function problemOf(response: Response, request: string): Promise<SynclineHttpError> {
  const { status, headers } = response;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json');
  const problem = (isProblem ? await response.json().catch(() => ({})) : {}) as Partial<Problem>;
  if (!isProblem) await response.body?.cancel().catch(() => {});
  const detail = problem.detail ?? `The response is not from the API: ${response.statusText || status}.`;
  // A date in the header refers to the server's clock.
  const sentMs = Date.parse(headers.get('date') ?? '');
  return new SynclineHttpError(`${request} returned ${status}: ${detail}`, {
    ...{ request, status, problem, code: problem.code ?? 'INVALID_RESPONSE' },
    retryAfterSeconds: secondsUntil(headers.get('retry-after'), sentMs),
  });
}
