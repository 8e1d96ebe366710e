import { readFileSync } from 'node:fs';
import type { SynclineErrorCode } from '../../src/contract/errors.ts';
import { defaultStatus, problemCodeOf } from '../../src/http/problem.ts';
import { code, table } from './markdown.ts';

/** Every code with its comment in the type, and the problem document that the API answers with. */
export function errorsTable(): string {
  const source = readFileSync(new URL('../../src/contract/errors.ts', import.meta.url), 'utf8');
  const meanings = new Map(
    [...source.matchAll(/^ {2}\/\*\* (.+) \*\/\n {2}\| '([A-Z_]+)'/gm)].map(
      ([, meaning = '', name = '']) => [name, asCell(meaning)] as const,
    ),
  );
  const codes = [...source.matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map(([, name = '']) => name);
  const rows = codes.map((name) => {
    const problem = problemCodeOf(name as SynclineErrorCode);
    return [code(name), meanings.get(name) ?? '', `${defaultStatus[problem]} ${code(problem)}`];
  });
  return table(['code', 'meaning', 'HTTP'], rows);
}

/** A table cell is not a sentence: `The caller may not do this.` becomes `the caller may not do this`. */
const asCell = (text: string) =>
  text.replace(/\.$/, '').replace(/(^|\. )[A-Z]/g, (start) => start.toLowerCase().replace('.', ';'));
