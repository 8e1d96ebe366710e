import { randomUUID } from 'node:crypto';
import { HTTPException } from 'hono/http-exception';
import type { Logger } from 'pino';
import { describeError, SynclineError, type SynclineErrorCode } from '../contract/errors.ts';
import { briefError } from '../telemetry/index.ts';

/** Every refusal is a problem document (RFC 9457). Programs match on `code`; the sentences are for people. */

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

/** One wrong field of a request. */
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

const defaultStatus: Record<ProblemCode, number> = {
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
  INVALID_ARGUMENT: 'The request is not valid',
  UNAUTHENTICATED: 'Not signed in',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Not found',
  CONFLICT: 'Not possible as things stand',
  EXPIRED: 'No longer kept',
  TOO_LARGE: 'Too large',
  TOO_MANY: 'Too many requests',
  INTERNAL: 'Something went wrong',
  UNAVAILABLE: 'Not available right now',
};

interface ProblemDetails {
  status?: number;
  hint?: string | undefined;
  errors?: FieldProblem[];
  instance?: string;
  headers?: Record<string, string>;
}

/** Thrown anywhere in a request, it becomes the answer. */
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

const engineCodes: Partial<Record<SynclineErrorCode, ProblemCode>> = {
  INVALID_ARGUMENT: 'INVALID_ARGUMENT',
  NOT_FOUND: 'NOT_FOUND',
  CONFLICT: 'CONFLICT',
  FORBIDDEN: 'FORBIDDEN',
  EXPIRED: 'EXPIRED',
};

/** What is wrong with the database is for whoever runs this, not for whoever asks: it names hosts and users. */
const outages: readonly SynclineErrorCode[] = [
  'DATABASE_UNREACHABLE',
  'DATABASE_REFUSED',
  'DATABASE_UNSUITABLE',
  'SCHEMA_MISSING',
  'SCHEMA_OUTDATED',
  'SCHEMA_NEWER',
  'SCHEMA_FOREIGN',
];

/** Turns whatever was thrown into a problem. What nobody foresaw is logged under an id, and only the id is told. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) return ofFramework(error);
  if (error instanceof SynclineError) {
    const code = engineCodes[error.code];
    if (code) return refusal(code, error);
    if (outages.includes(error.code)) {
      log.warn(`a request failed: ${describeError(error)}`);
      return new Problem('UNAVAILABLE', 'The database cannot be used right now.', {
        hint: 'Try again in a moment. The log of the service says more.',
        headers: { 'retry-after': '5' },
      });
    }
  }
  const id = randomUUID();
  log.error({ err: briefError(error), errorId: id }, `a request failed unexpectedly (error ${id})`);
  return new Problem('INTERNAL', `This should not have happened. It is logged as error ${id}.`, {
    instance: `urn:uuid:${id}`,
  });
}

/** The engine speaks of its own arguments; over HTTP they are named as they were sent, and listed as fields. */
function refusal(code: ProblemCode, { message, hint }: SynclineError): Problem {
  const [, name, rule] = /^([a-z]\w*) is .*?; it (.*)\.$/s.exec(message) ?? [];
  if (code !== 'INVALID_ARGUMENT' || name === undefined || rule === undefined)
    return new Problem(code, message, { hint });
  const field = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new Problem(code, `${field} ${rule}.`, { hint, errors: [{ field, message: rule }] });
}

/** The two refusals that the router and its validators raise themselves. */
function ofFramework({ status }: HTTPException): Problem {
  if (status === 415)
    return new Problem('INVALID_ARGUMENT', 'The body must be JSON.', {
      status,
      hint: 'Send it with the header content-type: application/json.',
    });
  return new Problem('INVALID_ARGUMENT', 'The body is not valid JSON.');
}
