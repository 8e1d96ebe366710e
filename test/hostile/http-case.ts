import type { Belongings } from '../http/tenant-world.ts';
import type { WireRequest } from '../http/wire.ts';

export interface HttpWorld {
  own: Belongings;
  foreign: Belongings;
  cookie: string;
  host: string;
  /** By path of the list. */
  cursors: Readonly<Record<string, string>>;
  foreignCursors: Readonly<Record<string, string>>;
}

interface Expected {
  status: number;
  /** Of the problem document. */
  code?: string;
  /** Matched against the response body. */
  body?: RegExp;
  /** The first invalid field of the problem document. */
  field?: string;
}

/** Sent with the own tenant's key unless `as` is set. Stored rows must not change unless `changes` is set. */
export interface HttpCase {
  name: string;
  as?: 'anonymous' | 'session';
  build: (world: HttpWorld) => WireRequest;
  expected: Expected;
  changes?: true;
}

export const invalid = (body: RegExp, field?: string): Expected => ({
  status: 400,
  code: 'INVALID_ARGUMENT',
  body,
  ...(field !== undefined && { field }),
});
export const notFound: Expected = { status: 404, code: 'NOT_FOUND' };
export const providerNotFound: Expected = { status: 404, code: 'PROVIDER_NOT_FOUND' };
export const forbidden: Expected = { status: 403, code: 'FORBIDDEN' };
export const unauthenticated: Expected = { status: 401, code: 'UNAUTHENTICATED' };
export const fine = (body?: RegExp): Expected => ({ status: 200, ...(body && { body }) });

export const get = (target: string, headers: Record<string, string> = {}): WireRequest => ({
  method: 'GET',
  target,
  headers,
});

/** Sends text and bytes unchanged, other bodies as JSON. */
export const send = (
  method: string,
  target: string,
  body: unknown,
  headers: Record<string, string> = {},
): WireRequest => ({
  method,
  target,
  headers: { 'content-type': 'application/json', ...headers },
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});

export const firstOf = ({ things }: Belongings, kind: string): string => things[0]?.[kind] ?? '';

export const cursorOf = (...parts: unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');
