import type { Wait } from './retry-after.ts';

/** Match on `code`: messages may change. */
export type SynclineErrorCode =
  /** An argument is invalid: `field`, `expected` and, unless a secret, `value` describe it. */
  | 'INVALID_ARGUMENT'
  /** The configuration of this process, a connector or a description is invalid. */
  | 'CONFIG_INVALID'
  /** The object does not exist, or is not visible to the caller. */
  | 'NOT_FOUND'
  /** The provider is not registered. */
  | 'PROVIDER_NOT_FOUND'
  /** The current state does not allow the call. */
  | 'CONFLICT'
  /** The caller may not do this. */
  | 'FORBIDDEN'
  /** The feed cursor or consent link is no longer valid. */
  | 'EXPIRED'
  /** A queue is full, or no connection of the pool is free. Retry later. */
  | 'OVERLOADED'
  /** The database cannot be reached. Retry later. */
  | 'DATABASE_UNREACHABLE'
  /** The database rejected the login or the statement: missing grant, read-only server, full disk or lock. */
  | 'DATABASE_REFUSED'
  /** The version or a setting of the server is not supported. */
  | 'DATABASE_UNSUITABLE'
  /** The database has no Syncline schema: run `syncline migrate`. */
  | 'SCHEMA_MISSING'
  /** The schema is older than this release: run `syncline migrate`. */
  | 'SCHEMA_OUTDATED'
  /** The schema is newer than this release: upgrade the package. */
  | 'SCHEMA_NEWER'
  /** The schema belongs to another application. */
  | 'SCHEMA_FOREIGN'
  /** The embedded Postgres of `syncline dev` cannot be used. */
  | 'EMBEDDED_POSTGRES';

interface ErrorDetails {
  field?: string | undefined;
  value?: string | undefined;
  expected?: string | undefined;
  hint?: string | undefined;
  cause?: unknown;
}

/** Error with a stable code and a hint for the fix. */
export class SynclineError extends Error {
  readonly code: SynclineErrorCode;
  /** The invalid argument or option. */
  declare readonly field: string | undefined;
  /** As in the message; never a secret. */
  declare readonly value: string | undefined;
  /** Completes "must be …". */
  declare readonly expected: string | undefined;
  declare readonly hint: string | undefined;

  constructor(code: SynclineErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'SynclineError';
    this.code = code;
    // Node prints every own property of uncaught errors, even if undefined.
    const { field, value, expected, hint } = details;
    const isSet = ([, text]: [string, string | undefined]) => text !== undefined;
    Object.assign(this, Object.fromEntries(Object.entries({ field, value, expected, hint }).filter(isSet)));
  }

  withHint(hint: string): SynclineError {
    return new SynclineError(this.code, this.message, { ...this, hint, cause: this.cause });
  }
}

export interface Refusal {
  field: string;
  expected: string;
  /** Rendered, without secrets. */
  value?: string | undefined;
  hint?: string | undefined;
}

const maxValueLength = 300;

export function invalidArgument(
  { value, ...refusal }: Refusal,
  code: SynclineErrorCode = 'INVALID_ARGUMENT',
): SynclineError {
  const details = { ...refusal, value: value?.slice(0, maxValueLength) };
  return new SynclineError(code, refusalMessage(details), details);
}

export function refusalMessage({ field, expected, value }: Refusal): string {
  return `${field} must be ${expected}${value === undefined ? '' : `, got ${value}`}.`;
}

/** With the hint. Never throws. */
export function describeError(error: unknown): string {
  try {
    return described(error);
  } catch {
    // Getters or toString may throw.
    return 'an error that cannot be read';
  }
}

function described(error: unknown): string {
  const message = error instanceof Error ? error.message || codeOf(error) || error.name : String(error);
  const hint = error instanceof SynclineError && error.hint ? ` ${error.hint}` : '';
  return `${message}${hint}`.replaceAll(/\s*\n\s*/g, ' ');
}

/** For several addresses, ECONNREFUSED is an AggregateError without message. */
function codeOf(error: Error): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

const connectorErrorKinds = [
  'rate_limited',
  'unauthorized',
  'permanent',
  'cursor_expired',
  'transient',
] as const;
/** Any other error is transient. */
export type ConnectorErrorKind = (typeof connectorErrorKinds)[number];

/** Recognises errors from another copy of this package. */
const kindKey = Symbol.for('syncline.connector-error');

abstract class ConnectorError extends Error {
  readonly [kindKey]: ConnectorErrorKind;

  constructor(kind: ConnectorErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this[kindKey] = kind;
  }
}

/** Rate limited: the job is requeued for at least the delay, without holding a slot. */
export class RateLimitedError extends ConnectorError {
  /** Seconds, or a Retry-After header. */
  readonly retryAfterSeconds: Wait;
  /** No request was sent: the job waits exactly this long, without a failure. */
  readonly parked: boolean;

  constructor(
    details: { retryAfterSeconds?: Wait; message?: string; parked?: boolean } = {},
    options?: ErrorOptions,
  ) {
    const { retryAfterSeconds, message, parked = false } = details;
    const isSeconds = (retryAfterSeconds ?? '') !== '' && !Number.isNaN(Number(retryAfterSeconds));
    const delay = isSeconds ? ` Retry after ${retryAfterSeconds} s.` : '';
    super('rate_limited', message ?? `Rate limited by the provider.${delay}`, options);
    this.retryAfterSeconds = retryAfterSeconds;
    this.parked = parked;
  }
}

/** Credentials rejected: the connection becomes `needs_auth`. */
export class UnauthorizedError extends ConnectorError {
  constructor(message = 'The provider rejected the credentials.', options?: ErrorOptions) {
    super('unauthorized', message, options);
  }
}

/** Not retryable: the job fails; the next one runs on schedule. */
export class PermanentError extends ConnectorError {
  constructor(message: string, options?: ErrorOptions) {
    super('permanent', message, options);
  }
}

/** Cursor rejected: the job fails and a full sync is queued. */
export class CursorExpiredError extends ConnectorError {
  constructor(message = 'The provider no longer accepts the cursor.', options?: ErrorOptions) {
    super('cursor_expired', message, options);
  }
}

/** Retryable, like any unclassified error. */
export class TransientError extends ConnectorError {
  constructor(message: string, options?: ErrorOptions) {
    super('transient', message, options);
  }
}

export function connectorErrorKind(error: unknown): ConnectorErrorKind {
  const tag = (error as { [kindKey]?: unknown } | null | undefined)?.[kindKey];
  return connectorErrorKinds.find((kind) => kind === tag) ?? 'transient';
}
