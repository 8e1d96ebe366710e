import type { z } from '@hono/zod-openapi';
import { getOwn } from '../values/own-value.ts';
import { isSecretParameter } from '../values/redact.ts';
import { type FieldProblem, Problem } from './problem.ts';

type Issue = z.core.$ZodIssue;

const maxShown = 80;
const maxErrors = 20;

function validationProblem(target: string, issues: readonly Issue[], data: unknown): Problem {
  const errors = issues.slice(0, maxErrors).flatMap((issue) => fieldProblems(issue, data));
  const [first] = errors;
  const where = target === 'query' ? 'query parameter' : target === 'param' ? 'path' : 'body';
  const detail = first
    ? sentence(`${first.field === 'body' ? 'The body' : first.field} ${first.message}`)
    : `The ${where} is not valid.`;
  return new Problem('INVALID_ARGUMENT', detail, {
    errors,
    ...(issues[0]?.code === 'unrecognized_keys' && { hint: issues[0].message }),
  });
}

export function refuseInvalid(
  result: { target: string; data?: unknown } & (
    | { success: true }
    | { success: false; error: { issues: Issue[] } }
  ),
): void {
  if (!result.success) throw validationProblem(result.target, result.error.issues, result.data);
}

function fieldProblems(issue: Issue, data: unknown): FieldProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: cut([...path, key].join('.')),
      message: `is unknown. ${issue.keys.length === 1 ? issue.message : ''}`.trim().replace(/\.$/, ''),
    }));
  // Probably the one with the fewest issues.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [closest = []] = [...issue.errors].sort((a, b) => a.length - b.length);
    return closest.flatMap((inner) =>
      fieldProblems({ ...inner, path: [...issue.path, ...inner.path] }, data),
    );
  }
  const field = cut(path.join('.')) || 'body';
  const value = getOwn(data, issue.path);
  // Objects may contain secrets.
  const isShown =
    value !== undefined && (typeof value !== 'object' || value === null) && !path.some(isSecretParameter);
  return [{ field, ...(isShown && { value: cut(String(value)) }), message: messageOf(issue, value) }];
}

function messageOf(issue: Issue, value: unknown): string {
  if (value === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value'))
    return 'is missing';
  if (Array.isArray(value) && issue.code === 'invalid_type' && issue.expected === 'string')
    return 'must not be repeated';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? issue.message : `must be ${issue.minimum} or more`;
    case 'too_big':
      return issue.origin === 'string' ? issue.message : `must be ${issue.maximum} or less`;
    default:
      return issue.message;
  }
}

const kinds: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

export function cut(text: string): string {
  return text.length <= maxShown ? text : `${text.slice(0, maxShown - 1)}…`;
}
