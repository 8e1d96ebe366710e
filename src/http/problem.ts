import { randomUUID } from 'node:crypto';
import { HTTPException } from 'hono/http-exception';
import type { Logger } from 'pino';
import { z } from 'zod';
import { describeError, refusalMessage, SynclineError, type SynclineErrorCode } from '../contract/errors.ts';
import { briefError } from '../platform/log.ts';

export const defaultStatus = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PROVIDER_NOT_FOUND: 404,
  CONFLICT: 409,
  EXPIRED: 410,
  TOO_LARGE: 413,
  TOO_MANY: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  OVERLOADED: 503,
  DATABASE_UNREACHABLE: 503,
  DATABASE_REFUSED: 503,
  DATABASE_UNSUITABLE: 503,
  SCHEMA_MISSING: 503,
  SCHEMA_OUTDATED: 503,
  SCHEMA_NEWER: 503,
  SCHEMA_FOREIGN: 503,
} as const;

export type ProblemCode = keyof typeof defaultStatus;

const titles: Record<ProblemCode, string> = {
  INVALID_ARGUMENT: 'Invalid request',
  UNAUTHENTICATED: 'Not logged in',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Not found',
  PROVIDER_NOT_FOUND: 'Provider not found',
  CONFLICT: 'Conflict with the current state',
  EXPIRED: 'Expired',
  TOO_LARGE: 'Too large',
  TOO_MANY: 'Too many requests',
  INTERNAL: 'Internal error',
  UNAVAILABLE: 'Temporarily unavailable',
  OVERLOADED: 'Overloaded',
  DATABASE_UNREACHABLE: 'Database unreachable',
  DATABASE_REFUSED: 'Refused by the database',
  DATABASE_UNSUITABLE: 'Database not suitable',
  SCHEMA_MISSING: 'Schema missing',
  SCHEMA_OUTDATED: 'Schema outdated',
  SCHEMA_NEWER: 'Schema newer than the service',
  SCHEMA_FOREIGN: 'Schema of another application',
};

/** RFC 9457. Clients match on `code`; texts may change. */
export const problemModel = z
  .object({
    type: z.string().meta({ example: 'urn:problem-type:syncline:not-found' }),
    title: z.string().meta({ example: 'Not found' }),
    status: z.int().meta({ example: 404 }),
    detail: z.string().meta({ example: 'There is no connection 0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f.' }),
    code: z.enum(Object.keys(defaultStatus) as ProblemCode[]).meta({ example: 'NOT_FOUND' }),
    hint: z.string().optional().meta({ description: 'How to fix it.' }),
    instance: z.string().optional().meta({ description: 'Id of an unexpected error in the service log.' }),
    errors: z
      .array(z.object({ field: z.string(), value: z.string().optional(), message: z.string() }))
      .optional()
      .meta({ description: 'All invalid fields.' }),
  })
  .meta({ id: 'Problem' });
export interface ProblemBody extends z.output<typeof problemModel> {}
export type FieldProblem = NonNullable<ProblemBody['errors']>[number];

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

/** INTERNAL: no request causes it. */
export const problemCodeOf = (code: SynclineErrorCode): ProblemCode =>
  code === 'CONFIG_INVALID' || code === 'EMBEDDED_POSTGRES' ? 'INTERNAL' : code;

/** Logs unexpected errors under the response's id. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) return frameworkProblem(error);
  if (error instanceof SynclineError) {
    const code = problemCodeOf(error.code);
    if (defaultStatus[code] === 503) return unavailable(code, error, log);
    if (code !== 'INTERNAL') return engineProblem(code, error);
  }
  const id = randomUUID();
  log.error({ err: briefError(error), errorId: id }, `request failed unexpectedly (error ${id})`);
  return new Problem('INTERNAL', `Internal error, logged as ${id}.`, {
    instance: `urn:uuid:${id}`,
  });
}

/** The message is only logged: it may name hosts and users. */
function unavailable(code: ProblemCode, error: SynclineError, log: Logger): Problem {
  log.warn(`request failed: ${describeError(error)}`);
  const detail = code === 'OVERLOADED' ? 'The service is overloaded.' : 'The database is unavailable.';
  return new Problem(code, detail, {
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
