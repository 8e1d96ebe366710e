import type { z } from 'zod';
import { SynclineError } from '../../contract/errors.ts';
import { getOwn } from '../../values/own-value.ts';
import { hidden, isSecretName } from '../../values/redact.ts';
import { nearest, suggestion } from '../../values/suggest.ts';

export interface Problem {
  path: readonly PropertyKey[];
  /** Follows the path: `is "x"; it must be y.` */
  message: string;
  /** If the path does not determine it. */
  line?: number;
}

const maxLines = 50;

export function invalidValue(
  path: readonly PropertyKey[],
  value: unknown,
  rule: string,
  choices: readonly string[] = [],
): Problem {
  const actual = value === undefined ? 'is missing' : `is ${describeValue(value, path)}`;
  const suggested = typeof value === 'string' ? nearest(value, choices) : undefined;
  return { path, message: `${actual}; it must be ${rule}.${suggested ? ` Did you mean ${suggested}?` : ''}` };
}

function unknownName(path: readonly PropertyKey[], known: readonly string[]): Problem {
  return { path, message: `is not known. ${suggestion(String(path.at(-1)), known)}` };
}

type Issue = z.core.$ZodIssue;

export function problemsOf(
  issues: readonly Issue[],
  input: unknown,
  at: readonly PropertyKey[] = [],
): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    const path = [...at, ...issue.path];
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => unknownName([...path, key], issue.message.split(', ')));
    if (issue.code === 'invalid_key')
      return [{ path, message: `is no name; it must be ${issue.issues[0]?.message}.` }];
    const branch = issue.code === 'invalid_union' ? issue.errors.find(isIntendedBranch) : undefined;
    return branch
      ? problemsOf(branch, input, path)
      : [invalidValue(path, getOwn(input, path), issue.message, choicesOf(issue))];
  });
}

/** Of an enum, or of a union's discriminator. */
function choicesOf(issue: Issue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  return issue.code === 'invalid_union' && issue.inclusive !== false ? (issue.options ?? []).map(String) : [];
}

/** The union branch that matched the value's type. */
const isIntendedBranch = (issues: readonly Issue[]) =>
  issues.some(({ path }) => path.length > 0) || issues.some(({ code }) => code === 'unrecognized_keys');

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the description';
  return path
    .map((step, i) =>
      typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${printable(String(step))}`,
    )
    .join('');
}

export type LineOf = (path: readonly PropertyKey[]) => number | undefined;

export function descriptionError(problems: readonly Problem[], what: string, lineOf?: LineOf): SynclineError {
  const lines = problems.map(({ path, message, line: own }) => {
    const line = own ?? lineOf?.(path);
    return `${line === undefined ? '' : `line ${line}: `}${pathText(path)} ${message}`;
  });
  const unique = [...new Set(lines)];
  const more = unique.length > maxLines ? [`… and ${unique.length - maxLines} more.`] : [];
  const count = unique.length === 1 ? 'a problem' : `${unique.length} problems`;
  return new SynclineError(
    'CONFIG_INVALID',
    [`${what} has ${count}:`, ...unique.slice(0, maxLines), ...more].join('\n'),
  );
}

function describeValue(value: unknown, path: readonly PropertyKey[]): string {
  if (typeof value === 'string' && path.some((step) => isSecretName(String(step)))) return hidden;
  if (typeof value === 'string') return `"${printable(value)}"`;
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? (value.length === 0 ? 'an empty list' : 'a list') : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

const printable = (text: string) =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\');
