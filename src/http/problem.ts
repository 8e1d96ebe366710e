import { randomUUID } from 'node:crypto';
import { HTTPException } from 'hono/http-exception';
import type { Logger } from 'pino';
import { describeError, refusalMessage, SynclineError, type SynclineErrorCode } from '../contract/errors.ts';
import { briefError } from '../platform/log.ts';

/** RFC 9457. Clients match on `code`; texts may change. */

export type ProblemCode =
  | 'INVALID_ARGUMENT'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'TOO_LARGE'
  | 'TOO_MANY'
  | 'EXPIRED'
  | 'UNAVAILABLE'
  | 'INTERNAL';

export interface FieldProblem {
  field: string;
  value?: string;
  message: string;
}

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ProblemCode;
  hint?: string;
  instance?: string;
  errors?: FieldProblem[];
}

export const defaultStatus: Record<ProblemCode, number> = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  EXPIRED: 410,
  TOO_LARGE: 413,
  TOO_MANY: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
};

const titles: Record<ProblemCode, string> = {
  INVALID_ARGUMENT: 'Invalid request',
  UNAUTHENTICATED: 'Not logged in',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Not found',
  CONFLICT: 'Conflict with the current state',
  EXPIRED: 'Expired',
  TOO_LARGE: 'Too large',
  TOO_MANY: 'Too many requests',
  INTERNAL: 'Internal error',
  UNAVAILABLE: 'Temporarily unavailable',
};

interface ProblemDetails {
  status?: number;
  hint?: string | undefined;
  errors?: FieldProblem[];
  instance?: string;
  headers?: Record<string, string>;
}

export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, detail: string, details: ProblemDetails = {}) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.status = details.status ?? defaultStatus[code];
    this.details = details;
  }

  toBody(): ProblemBody {
    const { hint, errors, instance } = this.details;
    return {
      type: `urn:problem-type:syncline:${this.code.toLowerCase().replaceAll('_', '-')}`,
      title: titles[this.code],
      status: this.status,
      detail: this.message,
      code: this.code,
      ...(hint !== undefined && { hint }),
      ...(instance !== undefined && { instance }),
      ...(errors && { errors }),
    };
  }

  toResponse(): Response {
    return new Response(JSON.stringify(this.toBody()), {
      status: this.status,
      headers: { 'content-type': 'application/problem+json', ...this.details.headers },
    });
  }
}

/** UNAVAILABLE: only logged, since it may name hosts and users. INTERNAL: no request causes it. */
export const problemCodes: Record<SynclineErrorCode, ProblemCode> = {
  INVALID_ARGUMENT: 'INVALID_ARGUMENT',
  NOT_FOUND: 'NOT_FOUND',
  PROVIDER_NOT_FOUND: 'NOT_FOUND',
  CONFLICT: 'CONFLICT',
  FORBIDDEN: 'FORBIDDEN',
  EXPIRED: 'EXPIRED',
  OVERLOADED: 'UNAVAILABLE',
  DATABASE_UNREACHABLE: 'UNAVAILABLE',
  DATABASE_REFUSED: 'UNAVAILABLE',
  DATABASE_UNSUITABLE: 'UNAVAILABLE',
  SCHEMA_MISSING: 'UNAVAILABLE',
  SCHEMA_OUTDATED: 'UNAVAILABLE',
  SCHEMA_NEWER: 'UNAVAILABLE',
  SCHEMA_FOREIGN: 'UNAVAILABLE',
  CONFIG_INVALID: 'INTERNAL',
  EMBEDDED_POSTGRES: 'INTERNAL',
};

/** Logs unexpected errors under the response's id. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) return frameworkProblem(error);
  if (error instanceof SynclineError) {
    const code = problemCodes[error.code];
    if (code === 'UNAVAILABLE') return unavailable(error, log);
    if (code !== 'INTERNAL') return engineProblem(code, error);
  }
  const id = randomUUID();
  log.error({ err: briefError(error), errorId: id }, `request failed unexpectedly (error ${id})`);
  return new Problem('INTERNAL', `Internal error, logged as ${id}.`, {
    instance: `urn:uuid:${id}`,
  });
}

function unavailable(error: SynclineError, log: Logger): Problem {
  log.warn(`request failed: ${describeError(error)}`);
  const detail = error.code === 'OVERLOADED' ? 'The service is overloaded.' : 'The database is unavailable.';
  return new Problem('UNAVAILABLE', detail, {
    hint: 'Try again later. See the service log for details.',
    headers: { 'retry-after': '5' },
  });
}

/** A camelCase argument is a snake_case field. */
function engineProblem(code: ProblemCode, error: SynclineError): Problem {
  const { message, hint, field: argument, expected, value } = error;
  if (argument === undefined || expected === undefined) return new Problem(code, message, { hint });
  const field = argument.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new Problem(code, refusalMessage({ field, expected, value }), {
    hint,
    errors: [{ field, ...(value !== undefined && { value }), message: `must be ${expected}` }],
  });
}

/** 415, or 400 (malformed JSON). */
function frameworkProblem({ status }: HTTPException): Problem {
  if (status === 415)
    return new Problem('INVALID_ARGUMENT', 'The body must be JSON.', {
      status,
      hint: 'Send the header content-type: application/json.',
    });
  return new Problem('INVALID_ARGUMENT', 'The body is not valid JSON.');
}
