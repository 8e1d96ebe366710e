import type { Problem } from './schema.ts';

/** `UNREACHABLE`: no response. `INVALID_RESPONSE`: it is not from the API, but from a proxy, say. */
export type HttpErrorCode = Problem['code'] | 'UNREACHABLE' | 'INVALID_RESPONSE';

interface HttpErrorDetails {
  /** Such as `GET /v1/connections`. */
  request: string;
  code: HttpErrorCode;
  status: number;
  problem?: Partial<Problem> | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** A failed request. Match on `code`: messages may change. */
export class SynclineHttpError extends Error {
  readonly code: HttpErrorCode;
  /** 0 without a response. */
  readonly status: number;
  /** Such as `GET /v1/connections`. */
  readonly request: string;
  readonly hint: string | undefined;
  /** The first invalid field. */
  readonly field: string | undefined;
  /** All invalid fields. */
  readonly errors: NonNullable<Problem['errors']>;
  /** Of an unexpected error: its id in the log of the service. */
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, details: HttpErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const { problem = {} } = details;
    this.name = 'SynclineHttpError';
    this.code = details.code;
    this.status = details.status;
    this.request = details.request;
    this.hint = problem.hint;
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.field = this.errors[0]?.field;
    this.requestId = problem.instance?.replace(/^urn:uuid:/, '');
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}
