import type { Wait } from './retry-after.ts';

/** Error codes. Match on `code`: messages may change. */
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

/** Error with a stable code, a message and a hint on how to fix it. */
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

/** One line with message and hint, for a terminal or a log. Never throws. */
export function describeError(error: unknown): string {
  try {
    return described(error);
  } catch {
    // Getters or toString of the thrown value may throw.
    return 'an error that cannot be read';
  }
}

function described(error: unknown): string {
  const message = error instanceof Error ? error.message || codeOf(error) || error.name : String(error);
  const hint = error instanceof SynclineError && error.hint ? ` ${error.hint}` : '';
  return `${message}${hint}`.replaceAll(/\s*\n\s*/g, ' ');
}

/** ECONNREFUSED on a host with several addresses is an AggregateError with a code and no message. */
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
/** Failure kinds of connectors. Any other error is transient. */
export type ConnectorErrorKind = (typeof connectorErrorKinds)[number];

/** Registered symbol: recognises errors from another copy of this package. */
const kindKey = Symbol.for('syncline.connector-error');

abstract class ConnectorError extends Error {
  readonly [kindKey]: ConnectorErrorKind;

  constructor(kind: ConnectorErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this[kindKey] = kind;
  }
}

/**
 * Rate limited by the provider. The job is requeued for at least the requested delay, without holding a slot.
 */
export class RateLimitedError extends ConnectorError {
  /** Seconds, or a Retry-After header: seconds or an HTTP date. */
  readonly retryAfterSeconds: Wait;
  /** No request was sent: the job waits exactly this long, and no failure is counted. */
  readonly parked: boolean;

  constructor(
    details: { retryAfterSeconds?: Wait; message?: string; parked?: boolean } = {},
    options?: ErrorOptions,
  ) {
    const { retryAfterSeconds, message, parked = false } = details;
    const isSeconds = (retryAfterSeconds ?? '') !== '' && !Number.isNaN(Number(retryAfterSeconds));
    // test/simulation/verdict.ts reads the delay from this message.
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

/** Kinds unknown to this version of the package are transient. */
export function connectorErrorKind(error: unknown): ConnectorErrorKind {
  const tag = (error as { [kindKey]?: unknown } | null | undefined)?.[kindKey];
  return connectorErrorKinds.find((kind) => kind === tag) ?? 'transient';
}
