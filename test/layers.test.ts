import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(join(src, file), 'utf8');

/** What a file imports, types too: files of ours by their place in src, packages by their name. */
function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g);
  return [...found].map(([, from, loaded]) => {
    const name = from ?? loaded ?? '';
    return name.startsWith('.') ? relative(src, resolve(src, dirname(file), name)) : name;
  });
}

/** Imports of files in a folder that lead out of it into src, where they are none of these. */
function strangers(folder: string, isKnown: (path: string) => boolean): string[] {
  const own = files.filter((file) => file.startsWith(`${folder}/`));
  expect(own, `${folder} holds files`).not.toEqual([]);
  return own.flatMap((file) =>
    importsOf(file)
      .filter((path) => /\.tsx?$/.test(path) && !path.startsWith(`${folder}/`) && !isKnown(path))
      .map((path) => `${file} imports ${path}`),
  );
}

const within = (path: string, folders: readonly string[]) =>
  folders.some((folder) => path.startsWith(`${folder}/`));

const above = ['runtime', 'http', 'cli', 'dev', 'doctor', 'dashboard', 'testing', 'connectors', 'kit'];

describe('who may import whom, as docs/internals/architecture.md says', () => {
  it.each([
    ['schedule', ['is-object.ts']],
    ['dashboard', []],
    [
      'kit',
      [
        'connector.ts',
        'errors.ts',
        'ports.ts',
        'secrets.ts',
        'is-object.ts',
        'parse-answer.ts',
        'slices.ts',
        'schema-check.ts',
        'seconds-until.ts',
        'budgets/budget.ts',
        'credentials/credential.ts',
        'webhooks/webhook.ts',
        'webhooks/signatures.ts',
      ],
    ],
    [
      'connectors',
      [
        'kit/index.ts',
        'kit/network.ts',
        'kit/rate-limit-headers.ts',
        'kit/refusals.ts',
        'errors.ts',
        'ports.ts',
        'plain.ts',
        'secrets.ts',
        'is-object.ts',
        'own-value.ts',
        'parse-answer.ts',
        'slices.ts',
        'config/suggest.ts',
      ],
    ],
  ])('%s: these and nothing else', (folder, known) => {
    expect(strangers(folder, (path) => known.includes(path))).toEqual([]);
  });

  it.each([
    ['store', [...above, 'pipeline', 'schedule', 'webhooks', 'telemetry']],
    ['pipeline', [...above, 'webhooks']],
    ['budgets', [...above, 'credentials', 'webhooks']],
    ['credentials', [...above, 'budgets', 'webhooks']],
    ['webhooks', [...above, 'budgets']],
    ['runtime', above],
    ['testing', [...above, 'store']],
    ['http', ['store', 'pipeline', 'schedule', 'runtime', 'budgets', 'webhooks', 'cli', 'dev', 'dashboard']],
    ['doctor', [...above, 'pipeline']],
  ])('%s: nothing of what is above it or beside it', (folder, unknown) => {
    expect(strangers(folder, (path) => !within(path, unknown))).toEqual([]);
  });

  it('only store, dev and the Postgres connector know pg', () => {
    const others = files.filter((file) => !within(file, ['store', 'dev', 'connectors/postgres']));
    expect(others.filter((file) => importsOf(file).includes('pg'))).toEqual([]);
  });
});

it('time and randomness come through the ports, except in the browser', () => {
  const others = files.filter((file) => file !== 'ports.ts' && !within(file, ['dashboard']));
  const around = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b/;
  expect(others.filter((file) => around.test(textOf(file)))).toEqual([]);
});
