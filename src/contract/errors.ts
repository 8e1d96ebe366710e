import type { Wait } from './retry-after.ts';

/** Why an operation was refused. Match on `code`: messages are for people and may change. */
export type SynclineErrorCode =
  | 'CONFIG_INVALID'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_REFUSED'
  | 'DATABASE_UNSUITABLE'
  | 'SCHEMA_MISSING'
  | 'SCHEMA_OUTDATED'
  | 'SCHEMA_NEWER'
  | 'SCHEMA_FOREIGN'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'EXPIRED'
  | 'EMBEDDED_POSTGRES';

/** What callers of Syncline may catch: a stable code, what is wrong, and what to do about it. */
export class SynclineError extends Error {
  readonly code: SynclineErrorCode;
  readonly hint: string | undefined;

  constructor(code: SynclineErrorCode, message: string, details: { hint?: string; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'SynclineError';
    this.code = code;
    this.hint = details.hint;
  }
}

/** One line for a terminal or a log: the message, and the remedy where there is one. Never throws. */
export function describeError(error: unknown): string {
  try {
    return described(error);
  } catch {
    // Anything can be thrown, also what cannot be read.
    return 'an error that cannot be read';
  }
}

function described(error: unknown): string {
  const message = error instanceof Error ? error.message || codeOf(error) || error.name : String(error);
  const hint = error instanceof SynclineError && error.hint ? ` ${error.hint}` : '';
  return `${message}${hint}`.replaceAll(/\s*\n\s*/g, ' ');
}

/** A refused connection to a host with several addresses has a code, and no message. */
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
/** What kind of failure a connector reports. Anything else that it throws is transient. */
export type ConnectorErrorKind = (typeof connectorErrorKinds)[number];

/** Recognises the errors below also when they come from another copy of this package. */
const kindKey = Symbol.for('syncline.connector-error');

abstract class ConnectorError extends Error {
  readonly [kindKey]: ConnectorErrorKind;

  constructor(kind: ConnectorErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this[kindKey] = kind;
  }
}

/** The provider wants fewer requests. The job waits at least as long as it asked for; no slot waits with it. */
export class RateLimitedError extends ConnectorError {
  /** Seconds, or what a Retry-After header says: seconds or an HTTP date. */
  readonly retryAfterSeconds: Wait;
  /** Nothing was tried: the job waits exactly so long, and it counts as no failure. */
  readonly parked: boolean;

  constructor(
    details: { retryAfterSeconds?: Wait; message?: string; parked?: boolean } = {},
    options?: ErrorOptions,
  ) {
    const { retryAfterSeconds, message, parked = false } = details;
    const isSeconds = (retryAfterSeconds ?? '') !== '' && !Number.isNaN(Number(retryAfterSeconds));
    const asked = isSeconds ? ` and asks to wait ${retryAfterSeconds} s` : '';
    super('rate_limited', message ?? `The provider limits the rate of requests${asked}.`, options);
    this.retryAfterSeconds = retryAfterSeconds;
    this.parked = parked;
  }
}

/** The credentials are refused: the connection needs its user, and is set to `needs_auth`. */
export class UnauthorizedError extends ConnectorError {
  constructor(message = 'The provider refuses the credentials.', options?: ErrorOptions) {
    super('unauthorized', message, options);
  }
}

/** Trying again would not help: the job fails, and the next one comes at its usual time. */
export class PermanentError extends ConnectorError {
  constructor(message: string, options?: ErrorOptions) {
    super('permanent', message, options);
  }
}

/** The provider no longer knows the cursor: the job fails and a full sync is queued. */
export class CursorExpiredError extends ConnectorError {
  constructor(message = 'The provider no longer accepts the cursor.', options?: ErrorOptions) {
    super('cursor_expired', message, options);
  }
}

/** Something that may pass by itself, said explicitly. */
export class TransientError extends ConnectorError {
  constructor(message: string, options?: ErrorOptions) {
    super('transient', message, options);
  }
}

/** Another version of this package may know kinds that this one does not. */
export function connectorErrorKind(error: unknown): ConnectorErrorKind {
  const said = (error as { [kindKey]?: unknown } | null | undefined)?.[kindKey];
  return connectorErrorKinds.find((kind) => kind === said) ?? 'transient';
}
