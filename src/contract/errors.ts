import type { Wait } from './retry-after.ts';

/** Match on `code`: messages may change. */
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

/** Error with a stable code and a hint on how to fix it. */
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

/** One line with message and hint. Never throws. */
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

/** On several addresses, ECONNREFUSED is an AggregateError without a message. */
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

/** Rate limited by the provider: the job is requeued for at least the delay, without holding a slot. */
export class RateLimitedError extends ConnectorError {
  /** Seconds, or a Retry-After header. */
  readonly retryAfterSeconds: Wait;
  /** No request was sent: the job waits exactly this long, no failure is counted. */
  readonly parked: boolean;

  constructor(
    details: { retryAfterSeconds?: Wait; message?: string; parked?: boolean } = {},
    options?: ErrorOptions,
  ) {
    const { retryAfterSeconds, message, parked = false } = details;
    const isSeconds = (retryAfterSeconds ?? '') !== '' && !Number.isNaN(Number(retryAfterSeconds));
    // test/simulation/verdict.ts reads this.
    const delay = isSeconds ? ` Retry after ${retryAfterSeconds} s.` : '';
    super('rate_limited', message ?? `Rate limited by the provider.${delay}`, options);
    this.retryAfterSeconds = retryAfterSeconds;
    this.parked = parked;
  }
}

/** The provider rejected the credentials: the connection becomes `needs_auth`. */
export class UnauthorizedError extends ConnectorError {
  constructor(message = 'The provider rejected the credentials.', options?: ErrorOptions) {
    super('unauthorized', message, options);
  }
}

/** Not retryable: the job fails, and the next one runs on schedule. */
export class PermanentError extends ConnectorError {
  constructor(message: string, options?: ErrorOptions) {
    super('permanent', message, options);
  }
}

/** The provider no longer accepts the cursor: the job fails and a full sync is queued. */
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

/** Unknown kinds are transient. */
export function connectorErrorKind(error: unknown): ConnectorErrorKind {
  const tag = (error as { [kindKey]?: unknown } | null | undefined)?.[kindKey];
  return connectorErrorKinds.find((kind) => kind === tag) ?? 'transient';
}
