import type { z } from 'zod';
import { SynclineError } from '../../contract/errors.ts';
import { getOwn } from '../../values/own-value.ts';
import { isSecretName } from '../../values/redact.ts';
import { nearest, suggestion } from '../../values/suggest.ts';

/** One thing that is wrong with a description: where, and what about it. */
export interface Problem {
  path: readonly PropertyKey[];
  /** Goes on after the path: `is "x"; it must be y.` */
  says: string;
  /** Where it stands, if its path does not say it. */
  line?: number;
}

/** More than anybody mends at once. */
const maxLines = 50;

/** What a value is, must be, and probably was meant to be. */
export function wrong(path: readonly PropertyKey[], value: unknown, must: string): Problem {
  const is = value === undefined ? 'is missing' : `is ${shown(value, path)}`;
  const choices = /^one of (.+)$/.exec(must)?.[1]?.split(', ');
  const meant = choices && typeof value === 'string' ? nearest(value, choices) : undefined;
  return { path, says: `${is}; it must be ${must}.${meant ? ` Did you mean ${meant}?` : ''}` };
}

function unknownName(path: readonly PropertyKey[], known: readonly string[]): Problem {
  return { path, says: `is not known. ${suggestion(String(path.at(-1)), known)}` };
}

type Issue = z.core.$ZodIssue;

/** What a schema found, in our words. */
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
      return [{ path, says: `is no name; it must be ${issue.issues[0]?.message}.` }];
    const branch = issue.code === 'invalid_union' ? issue.errors.find(isMeant) : undefined;
    return branch ? problemsOf(branch, input, path) : [wrong(path, getOwn(input, path), mustBe(issue))];
  });
}

/** Within a body there are no messages of ours. */
const mustBe = ({ message }: Issue) => (message.startsWith('Invalid') ? 'JSON' : message);

/** The branch of a union that a value was meant for: the one whose kind of value it is. */
const isMeant = (issues: readonly Issue[]) =>
  issues.some(({ path }) => path.length > 0) || issues.some(({ code }) => code === 'unrecognized_keys');

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the description';
  return path
    .map((step, i) =>
      typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${printable(String(step))}`,
    )
    .join('');
}

/** Where a problem stands in a file; undefined where nobody knows. */
export type LineOf = (path: readonly PropertyKey[]) => number | undefined;

/** The one kind of error there is: everything that is wrong, a line each. */
export function descriptionError(problems: readonly Problem[], what: string, lineOf?: LineOf): SynclineError {
  const lines = problems.map(({ path, says, line: own }) => {
    const line = own ?? lineOf?.(path);
    return `${line === undefined ? '' : `line ${line}: `}${pathText(path)} ${says}`;
  });
  const unique = [...new Set(lines)];
  const more = unique.length > maxLines ? [`… and ${unique.length - maxLines} more.`] : [];
  const count = unique.length === 1 ? 'a problem' : `${unique.length} problems`;
  return new SynclineError(
    'CONFIG_INVALID',
    [`${what} has ${count}:`, ...unique.slice(0, maxLines), ...more].join('\n'),
  );
}

function shown(value: unknown, path: readonly PropertyKey[]): string {
  if (typeof value === 'string' && path.some((step) => isSecretName(String(step)))) return '[hidden]';
  if (typeof value === 'string') return `"${printable(value)}"`;
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? (value.length === 0 ? 'an empty list' : 'a list') : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

/** On one line, and short. */
const printable = (text: string) =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\');
