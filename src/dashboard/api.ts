import { signal } from '@preact/signals';
import type { Problem } from './types.ts';

export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

/** Incremented after changes by this page and lost connections. */
export const changes = signal(0);

export type Query = Record<string, string | number | boolean | null | undefined>;

let notifyUnauthenticated: () => void = () => {};

export function onUnauthenticated(listener: () => void): void {
  notifyUnauthenticated = listener;
}

export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, String(value));
  return url.href;
}

export function get<Answer>(path: string, query?: Query, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>('GET', apiUrl(path, query), undefined, signal);
}

export function send<Answer = void>(
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
  signal?: AbortSignal,
): Promise<Answer> {
  return request<Answer>(method, apiUrl(path), body, signal);
}

async function request<Answer>(
  method: string,
  url: string,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const init: RequestInit = { method, headers: headersFor(method, body), credentials: 'same-origin' };
  if (body) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, init).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ApiError(unreachable);
    });
    if (response.ok) {
      if (method !== 'GET') changes.value++;
      return (response.status === 204 ? undefined : await response.json()) as Answer;
    }
    const problem = await problemOf(response);
    const waitMs = method === 'GET' || attempt === maxAttempts ? undefined : retryAfterMs(problem, response);
    if (waitMs === undefined) throw new ApiError(problem);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** Of a change; the next refresh repeats a read. */
const maxAttempts = 4;
const maxRetryAfterSeconds = 5;

/** TOO_MANY precedes the work: a change can be sent again. */
function retryAfterMs({ code }: Problem, { headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return code === 'TOO_MANY' && seconds <= maxRetryAfterSeconds ? seconds * 1000 : undefined;
}

function headersFor(method: string, body: object | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json' };
  // CSRF: other sites cannot send it.
  if (method !== 'GET') headers['x-syncline-request'] = '1';
  if (body) headers['content-type'] = 'application/json';
  return headers;
}

export const unreachableCode = 'UNREACHABLE';

const unreachable: Problem = {
  title: 'Server unreachable',
  status: 0,
  detail: 'The request failed or no response arrived.',
  code: unreachableCode,
  hint: 'Check that the service is running and that this machine is online.',
};

async function problemOf(response: Response): Promise<Problem> {
  if (response.status === 401) notifyUnauthenticated();
  const body: Partial<Problem> | null = await response.json().catch(() => null);
  return {
    ...body,
    title: body?.title ?? `HTTP status ${response.status}`,
    status: response.status,
    detail: body?.detail ?? response.statusText,
    code: body?.code ?? 'UNKNOWN',
  };
}

export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof ApiError) return thrown.problem;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return { title: 'Error on this page', status: 0, detail, code: 'PAGE' };
}
