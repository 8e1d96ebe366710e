import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { invalidArgument, SynclineError } from '../../src/contract/errors.ts';
import { requireOneOf, requireSmall, requireUuid } from '../../src/values/arguments.ts';

const root = resolve(import.meta.dirname, '../..');
const src = join(root, 'src');

describe('errors: an argument error', () => {
  const thrownBy = (check: () => void): unknown => {
    try {
      check();
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it('errors: an argument error has the parts of its message as properties', () => {
    const error = invalidArgument({ field: 'limit', expected: 'from 1 to 9', value: '10', hint: 'Page.' });
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'limit must be from 1 to 9, got 10.',
      field: 'limit',
      expected: 'from 1 to 9',
      value: '10',
      hint: 'Page.',
    });
    expect(error.withHint('Retry.')).toMatchObject({ ...error, message: error.message, hint: 'Retry.' });
  });

  it('errors: a value that must not be shown is left out of message and properties', () => {
    const error = invalidArgument({ field: 'secret', expected: 'text' });
    expect(error.message).toBe('secret must be text.');
    expect(error).not.toHaveProperty('value');
  });

  it.each([
    ['a UUID', () => requireUuid('id', 'x'.repeat(1000))],
    ['one of a, b', () => requireOneOf('status', 'x'.repeat(1000), ['a', 'b'])],
    ['JSON that Postgres can store', () => requireSmall('cursor', { ['k'.repeat(1000)]: '\0' }, 10_000)],
  ])('errors: a long value that must be %s is shortened', (expected, check) => {
    const error = thrownBy(check) as ReturnType<typeof invalidArgument>;
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', expected });
    expect(error.value?.length).toBeLessThanOrEqual(300);
    expect(error.message).toContain(`, got ${error.value}.`);
  });
});

/** Files that may read the text of an error, how often, and why. */
const mayReadText: Record<string, [reads: number, reason: string]> = {
  'api/jobs/detail.ts': [1, 'completes the text with a full stop'],
  'store/database-errors.ts': [1, 'pg reports a login without a password as a plain Error without a code'],
  'store/connect-hints.ts': [
    2,
    'Postgres and poolers name a missing TLS only in the text of a refused login',
  ],
  'connectors/postgres/errors.ts': [
    1,
    'pg reports a timeout and a server without TLS as plain Errors without a code',
  ],
  'connectors/http/problems.ts': [
    1,
    'zod passes the known keys of an object only through the text of the issue',
  ],
  'connectors/http/yaml.ts': [1, 'shortens the text of the YAML parser to its first line'],
};

const method = String.raw`\??\.(?:match|matchAll|startsWith|endsWith|includes|indexOf|search|split)\(`;
const nested = String.raw`(?:[^()]|\((?:[^()]|\([^()]*\))*\))*`;
const readsOf = (name: string) => [
  new RegExp(String.raw`\b${name}\)*\s*${method}`, 'g'),
  new RegExp(String.raw`\.(?:test|exec)\(${nested}\b${name}\b`, 'g'),
  new RegExp(String.raw`(?<!typeof [\w.?]*)\b${name}\s*[!=]==?\s*['"\x60]`, 'g'),
];
const readsOfDescription = [
  new RegExp(String.raw`\bdescribeError\(${nested}\)\s*${method}`, 'g'),
  new RegExp(String.raw`\.(?:test|exec)\(${nested}\bdescribeError\(`, 'g'),
];

/** Variables and parameters of a file that hold the text of an error. */
function namesOfMessages(text: string): string[] {
  const assigned = text.matchAll(/\b(?:const|let) (\w+) =[^;]*?\.message\b(?! *[=(])[^;]{0,40};/g);
  const destructured = text.matchAll(/\{[^{}]*\bmessage: (\w+)[^{}]*\}(?=\s*(?:=[^=>]|[:)]))/g);
  const passed = text.matchAll(new RegExp(String.raw`\b(\w+)\(((?:${nested},)?\s*[\w.?]+\.message)\b`, 'g'));
  const parameters = [...passed].map(([, called = '', args = '']) => {
    const declared = new RegExp(String.raw`\b(?:function ${called}|const ${called} = )\(([^)]*)\)`).exec(
      text,
    );
    const position = args.replace(/\([^()]*\)/g, '').split(',').length - 1;
    return /^\w+/.exec(declared?.[1]?.split(',')[position]?.trim() ?? '')?.[0];
  });
  const renamed = [...assigned, ...destructured].map(([, name]) => name);
  return [...new Set(['message', ...renamed, ...parameters])].filter((name) => name !== undefined);
}

const countReads = (text: string) =>
  [...namesOfMessages(text).flatMap(readsOf), ...readsOfDescription].flatMap((pattern) => [
    ...text.matchAll(pattern),
  ]).length;

describe('errors: details', () => {
  it('errors: an uncaught error prints only details that are set', () => {
    const error = new SynclineError('CONFLICT', 'The job is running.', { hint: 'Wait.' });
    expect(inspect(error)).toMatch(/code: 'CONFLICT',\s+hint: 'Wait\.'/);
    expect(inspect(error)).not.toContain('undefined');
    expect([error.field, error.withHint('Cancel it.').hint]).toEqual([undefined, 'Cancel it.']);
  });
});

describe('errors: codes', () => {
  it('errors: no code decides by the text of an error', () => {
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    );
    const reads = files
      .map((file) => [file, countReads(readFileSync(join(src, file), 'utf8'))] as const)
      .filter(([, count]) => count > 0);
    expect(Object.fromEntries(reads)).toEqual(
      Object.fromEntries(Object.entries(mayReadText).map(([file, [count]]) => [file, count])),
    );
  });

  it.each([
    ["if (error.message.startsWith('no'))", 1],
    ["const text = error.message;\nif (text.includes('no'))", 1],
    ['const { message: text } = error;\nif (/no/.test(text))', 1],
    [
      'function read(path: string, rule: string) { return /^one of/.exec(rule); }\nread([], issue.message);',
      1,
    ],
    ['const text = describeError(error);\nlog.warn(text);', 0],
  ])('errors: %j counts as %i', (text, count) => {
    expect(countReads(text)).toBe(count);
  });
});
