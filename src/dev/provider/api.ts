import type { IncomingHttpHeaders } from 'node:http';
import type { Budget } from './budget.ts';

export interface ApiRequest {
  account: string;
  pathname: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  baseUrl: string;
  nowMs: number;
  budget: Budget;
}

export interface ApiResponse {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export type Refusal =
  | { kind: 'unauthorized' }
  | { kind: 'broken' }
  | { kind: 'too fast'; retryAfterSeconds: number }
  | { kind: 'spent'; retryAfterSeconds: number; budget: Budget };

export interface ProviderApi {
  slug: string;
  accountOf(pathname: string, query: URLSearchParams): string | undefined;
  list(request: ApiRequest): ApiResponse;
  refuse(refusal: Refusal): ApiResponse;
}

export function pageSize(query: URLSearchParams, name: string, defaultSize: number, maxSize: number): number {
  const size = Number(query.get(name) ?? defaultSize);
  return Number.isInteger(size) && size >= 1 ? Math.min(size, maxSize) : defaultSize;
}

export function sealNumbers(...numbers: number[]): string {
  return Buffer.from(numbers.join('.')).toString('base64url');
}

export function unsealNumbers(token: string, count: number): number[] | undefined {
  const numbers = Buffer.from(token, 'base64url').toString().split('.').map(Number);
  return numbers.length === count && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

export function captured(pattern: RegExp, pathname: string): string | undefined {
  try {
    return decodeURIComponent(pattern.exec(pathname)?.[1] ?? '') || undefined;
  } catch {
    // Malformed encoding.
    return undefined;
  }
}
