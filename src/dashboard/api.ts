import { signal } from '@preact/signals';
import type { Problem } from './types.ts';

/** An answer that says no, in the server's words. */
export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

/** Counts the moments at which whatever is shown may have become wrong: a change made from this page, an outage. */
export const changes = signal(0);

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Told whenever a request is refused for want of a session, so that the app can show the login. */
let whenUnauthenticated: () => void = () => {};

export function onUnauthenticated(listener: () => void): void {
  whenUnauthenticated = listener;
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
  const response = await fetch(url, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(unreachable);
  });
  if (!response.ok) throw new ApiError(await problemOf(response));
  if (method !== 'GET') changes.value++;
  // The answer's shape is the server's promise; there is nothing here to check it against.
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

function headersFor(method: string, body: object | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json' };
  // Other sites cannot send this header, so a request that carries it comes from this page.
  if (method !== 'GET') headers['x-syncline-request'] = '1';
  if (body) headers['content-type'] = 'application/json';
  return headers;
}

/** The code of the one problem that no server can tell. */
export const unreachableCode = 'UNREACHABLE';

const unreachable: Problem = {
  title: 'The server does not answer',
  status: 0,
  detail: 'The request did not reach the server, or no answer came back.',
  code: unreachableCode,
  hint: 'Is the process still running, and this machine online?',
};

async function problemOf(response: Response): Promise<Problem> {
  if (response.status === 401) whenUnauthenticated();
  const said: Partial<Problem> | null = await response.json().catch(() => null);
  return {
    ...said,
    title: said?.title ?? `The server answered ${response.status}`,
    status: response.status,
    detail: said?.detail ?? response.statusText,
    code: said?.code ?? 'UNKNOWN',
  };
}

/** What went wrong, as a problem, whatever was thrown. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof ApiError) return thrown.problem;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return { title: 'Something went wrong in this page', status: 0, detail, code: 'PAGE' };
}
