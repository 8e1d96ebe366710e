import type { IncomingHttpHeaders } from 'node:http';
import type { Budget } from './budget.ts';

/** A request for an account's items, by somebody who may see them. */
export interface Asked {
  account: string;
  /** Below the API's beginning. */
  pathname: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Where the API begins, for links to itself. */
  baseUrl: string;
  nowMs: number;
  budget: Budget;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; none where there is none. */
  body?: unknown;
}

/** Why a request is refused, which every provider says in its own way. */
export type Refusal =
  | { kind: 'unauthorized' }
  | { kind: 'broken' }
  /** Too many requests at once. */
  | { kind: 'too fast'; retryAfterSeconds: number }
  /** No requests left until the budget starts anew. */
  | { kind: 'spent'; retryAfterSeconds: number; budget: Budget };

/** One provider: what its API looks like. Holds no state; everything follows from the account and the time. */
export interface ProviderApi {
  /** The slug of the provider, and the first part of the path. */
  slug: string;
  /** Whose items a path asks for; undefined for a path that does not exist. */
  accountOf(pathname: string, query: URLSearchParams): string | undefined;
  list(asked: Asked): Answer;
  refuse(refusal: Refusal): Answer;
}

/** How many items are wanted on a page, within what the provider allows. */
export function pageSize(query: URLSearchParams, name: string, usual: number, most: number): number {
  const wanted = Number(query.get(name) ?? usual);
  return Number.isInteger(wanted) && wanted >= 1 ? Math.min(wanted, most) : usual;
}

/** A token that only this server can read, as far as clients are concerned: whole numbers, written unreadably. */
export function sealNumbers(...numbers: number[]): string {
  return Buffer.from(numbers.join('.')).toString('base64url');
}

export function unsealNumbers(token: string, count: number): number[] | undefined {
  const numbers = Buffer.from(token, 'base64url').toString().split('.').map(Number);
  return numbers.length === count && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

/** The part of a path that a pattern captures, decoded. */
export function captured(pattern: RegExp, pathname: string): string | undefined {
  try {
    return decodeURIComponent(pattern.exec(pathname)?.[1] ?? '') || undefined;
  } catch {
    // A percent sign that stands for nothing.
    return undefined;
  }
}
