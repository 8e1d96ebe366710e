import type { Belongings } from '../http/tenant-world.ts';
import type { WireRequest } from '../http/wire.ts';

/** Who asks, and who is not to be found. */
export interface HttpWorld {
  own: Belongings;
  foreign: Belongings;
  /** The cookie of a session of the own tenant. */
  cookie: string;
  host: string;
  /** A cursor of a list of the own tenant, by the list's path, and of the foreign one. */
  cursors: Readonly<Record<string, string>>;
  foreignCursors: Readonly<Record<string, string>>;
}

/** What has to be answered. */
interface Expected {
  status: number;
  /** Of the problem document. */
  code?: string;
  /** The whole text has to match. */
  told?: RegExp;
  /** The field that the problem names first. */
  field?: string;
}

/** Asked with the key of the own tenant unless it says otherwise. Nothing that is stored may change unless it says so. */
export interface HttpCase {
  name: string;
  as?: 'nobody' | 'session';
  ask: (world: HttpWorld) => WireRequest;
  expected: Expected;
  changes?: true;
}

export const invalid = (told: RegExp, field?: string): Expected => ({
  status: 400,
  code: 'INVALID_ARGUMENT',
  told,
  ...(field !== undefined && { field }),
});
export const notFound: Expected = { status: 404, code: 'NOT_FOUND' };
export const forbidden: Expected = { status: 403, code: 'FORBIDDEN' };
export const unauthenticated: Expected = { status: 401, code: 'UNAUTHENTICATED' };
export const fine = (told?: RegExp): Expected => ({ status: 200, ...(told && { told }) });

export const get = (target: string, headers: Record<string, string> = {}): WireRequest => ({
  method: 'GET',
  target,
  headers,
});

/** Sends what it is given: text and bytes as they are, anything else as JSON. */
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

/** The first thing of its owner. */
export const firstOf = ({ things }: Belongings, what: string): string => things[0]?.[what] ?? '';

export const cursorOf = (...parts: unknown[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');
