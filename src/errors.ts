/** Why an operation was refused. Match on `code`: messages are for people and may change. */
export type SynclineErrorCode =
  | 'CONFIG_INVALID'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_REFUSED'
  | 'SCHEMA_MISSING'
  | 'SCHEMA_OUTDATED'
  | 'SCHEMA_NEWER'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'CONFLICT'
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

/** One line for a terminal or a log: the message, and the remedy where there is one. */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message || codeOf(error) || error.name : String(error);
  const hint = error instanceof SynclineError && error.hint ? ` ${error.hint}` : '';
  return `${message}${hint}`.replaceAll(/\s*\n\s*/g, ' ');
}

/** A refused connection to a host with several addresses has a code, and no message. */
function codeOf(error: Error): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
