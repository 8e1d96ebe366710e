import type { z } from '@hono/zod-openapi';
import { schemaOf } from './model-schema.ts';
import { problemModel } from './problem.ts';

const problemSchema = schemaOf({ schema: problemModel });

const meanings = {
  400: 'Invalid request; `errors` lists the invalid fields.',
  401: 'Missing or invalid API key or session.',
  403: 'The caller may not do this.',
  404: 'Not found, or not visible to the caller.',
  409: 'Conflict with the current state.',
  410: 'The cursor or link has expired.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  429: 'Too many requests; retry after `Retry-After`.',
  500: 'Internal error; `instance` is its id in the service log.',
  503: 'Overloaded, or the database is unavailable; retry after `Retry-After`.',
} as const;

type ProblemStatus = keyof typeof meanings;

export function problems(...own: ProblemStatus[]): Record<never, never> {
  const all = [...new Set<ProblemStatus>([...own, 400, 401, 403, 429, 500, 503])].sort((a, b) => a - b);
  return Object.fromEntries(
    all.map((status) => [
      status,
      { description: meanings[status], content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  );
}

export const bodyProblems = (...own: ProblemStatus[]) => problems(...own, 413, 415);

export function answer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

export const nothing = (description: string) => ({ description });

export function body<Schema extends z.ZodType>(schema: Schema, { required = true } = {}) {
  return { required, content: { 'application/json': { schema } } };
}

/** Not for logins and probes. */
export const signedIn = [{ bearer: [] }, { session: [] }];
