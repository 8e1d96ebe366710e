import { z } from '@hono/zod-openapi';

/** How answers are described in the OpenAPI document. */

const problemSchema = z
  .object({
    type: z.string().openapi({ example: 'urn:problem-type:syncline:not-found' }),
    title: z.string().openapi({ example: 'Not found' }),
    status: z.int().openapi({ example: 404 }),
    detail: z.string().openapi({ example: 'There is no connection 0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f.' }),
    code: z.enum([
      'INVALID_ARGUMENT',
      'UNAUTHENTICATED',
      'FORBIDDEN',
      'NOT_FOUND',
      'CONFLICT',
      'TOO_LARGE',
      'TOO_MANY',
      'EXPIRED',
      'UNAVAILABLE',
      'INTERNAL',
    ]),
    hint: z.string().optional().openapi({ description: 'What to do about it.' }),
    instance: z
      .string()
      .optional()
      .openapi({ description: 'The id under which an unexpected error is logged.' }),
    errors: z
      .array(z.object({ field: z.string(), value: z.string().optional(), message: z.string() }))
      .optional()
      .openapi({ description: 'Every field that is wrong.' }),
  })
  .openapi('Problem');

const meanings = {
  400: 'Something in the request is wrong; `errors` names each field.',
  401: 'There is no valid API key or session.',
  403: 'The caller may not do this.',
  404: 'There is no such thing, or the caller may not see it.',
  409: 'Not possible as things stand.',
  410: 'What the cursor points at is no longer kept.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  429: 'Too many at once or too often; `Retry-After` says when to try again.',
  500: 'Something unexpected; `instance` is the id under which it is logged.',
  503: 'Too busy, or the database cannot be used; `Retry-After` says when to try again.',
} as const;

type ProblemStatus = keyof typeof meanings;

/** The problems that a route can answer with: those named, and those that any can. */
export function problems(...own: ProblemStatus[]): Record<never, never> {
  const all = [...new Set<ProblemStatus>([...own, 400, 401, 403, 429, 500, 503])].sort((a, b) => a - b);
  return Object.fromEntries(
    all.map((status) => [
      status,
      { description: meanings[status], content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  );
}

/** … of a route that takes a body. */
export const bodyProblems = (...own: ProblemStatus[]) => problems(...own, 413, 415);

export function answer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

export const nothing = (description: string) => ({ description });

export function body<Schema extends z.ZodType>(schema: Schema, { required = true } = {}) {
  return { required, content: { 'application/json': { schema } } };
}

/** Every route but those for signing in and for probes. */
export const signedIn = [{ bearer: [] }, { session: [] }];
