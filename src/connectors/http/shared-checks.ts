import { suggestion } from '../../values/suggest.ts';
import type { HttpDescription } from './description.ts';
import { parsePath } from './paths.ts';
import { invalidValue, type Problem } from './problems.ts';
import { namesIn, parseTemplate, textsIn } from './templates.ts';

export type At = readonly PropertyKey[];

export const configNames = ({ config = {} }: HttpDescription) =>
  Object.keys(config).map((name) => `config.${name}`);

export const isHeaderName = (name: string) => /^[\w!#$%&'*+.^`|~-]+$/.test(name);

export function conditionProblems(
  condition: { path: string; equals?: unknown; in?: unknown; exists?: unknown },
  at: At,
): Problem[] {
  const tests = (['equals', 'in', 'exists'] as const).filter((name) => condition[name] !== undefined);
  return [
    ...pathProblems(condition.path, [...at, 'path']),
    ...(tests.length === 0 ? [{ path: at, message: 'has no test; set equals, in or exists.' }] : []),
    ...(condition.equals !== undefined && condition.in !== undefined
      ? [{ path: [...at, 'in'], message: 'and equals are mutually exclusive; put all values into in.' }]
      : []),
  ];
}

export function pathProblems(text: string | undefined, at: At): Problem[] {
  if (text === undefined) return [];
  const parsed = parsePath(text);
  return 'problem' in parsed ? [invalidValue(at, text, parsed.problem)] : [];
}

export const pathsProblems = (paths: string | string[] | undefined, at: At): Problem[] =>
  Array.isArray(paths) ? paths.flatMap((path, i) => pathProblems(path, [...at, i])) : pathProblems(paths, at);

export function templateProblems(value: unknown, at: At, known: readonly string[]): Problem[] {
  return textsIn(value, at).flatMap(({ at: path, text }) =>
    namesIn(parseTemplate(text))
      .filter((name) => !known.includes(name))
      .map((name) => ({
        path,
        message:
          `has the placeholder {${name.slice(0, 60)}}, which is not known. ` +
          `${known.length === 0 ? 'Declare it in config.' : suggestion(name, known)}`,
      })),
  );
}
