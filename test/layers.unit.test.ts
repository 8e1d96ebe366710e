import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** A layer imports only layers listed before it, types included. */
const layers = [
  'contract',
  'values',
  'platform',
  'schedule',
  'config',
  'store',
  'caller',
  'pipeline',
  'telemetry',
  'credentials',
  'budgets',
  'webhooks',
  'feed',
  'runtime',
  'api',
  'doctor',
  'syncline.ts',
  'index.ts',
  'connector-kit',
  'connectors',
  'testing',
  'dev',
  'http',
  'cli',
  'dashboard',
  'web.ts',
  'hono.ts',
  'express.ts',
  'fastify.ts',
  'next.ts',
  'client',
];

/** Other layers import these only through their `index.ts`. */
const contexts = [
  'telemetry',
  'credentials',
  'budgets',
  'webhooks',
  'feed',
  'runtime',
  'api',
  'doctor',
  'connector-kit',
  'testing',
  'dev',
  'http',
];

/** Imported on demand; through an entry point every command would load them. */
const loadedOnDemand = ['dev/demo-connectors.ts'];

/** What a program that uses the package can import. */
const packageEntries = [
  'index.ts',
  'web.ts',
  'hono.ts',
  'express.ts',
  'fastify.ts',
  'next.ts',
  'client/index.ts',
  'connector-kit/index.ts',
  'connectors/index.ts',
  'testing/index.ts',
];

/** Without access to the database; a program could contain its own. */
const groundLayers = ['contract', 'values', 'platform', 'config'];

const src = resolve(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const layerOf = (file: string) => file.split('/')[0] as string;

/** Imports of each file, types included: project files by path in src, packages by name. */
const imports = files.flatMap((file) => {
  const found = readFileSync(join(src, file), 'utf8').matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g);
  return [...found].map(([, from, loaded]) => {
    const name = from ?? loaded ?? '';
    return { file, to: name.startsWith('.') ? relative(src, resolve(src, dirname(file), name)) : name };
  });
});
const crossing = imports.filter(({ file, to }) => /\.tsx?$/.test(to) && layerOf(file) !== layerOf(to));
const shown = (found: typeof imports) => found.map(({ file, to }) => `${file} imports ${to}`);

describe('layers', () => {
  it('layers: every file belongs to a layer', () => {
    expect(new Set(files.map(layerOf))).toEqual(new Set(layers));
  });

  it('layers: no import points upwards', () => {
    const height = (file: string) => layers.indexOf(layerOf(file));
    expect(shown(crossing.filter(({ file, to }) => height(to) > height(file)))).toEqual([]);
  });

  it('layers: no import bypasses an entry point', () => {
    const bypasses = crossing.filter(
      ({ to }) =>
        contexts.includes(layerOf(to)) && to !== `${layerOf(to)}/index.ts` && !loadedOnDemand.includes(to),
    );
    expect(shown(bypasses)).toEqual([]);
  });

  it('layers: only the store, the Postgres connector and the development database import pg', () => {
    const importing = imports.filter(({ to }) => to === 'pg').map(({ file }) => file);
    const allowed = /^(store|dev)\/|^connectors\/postgres\//;
    expect(importing.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it('layers: only modules that the build evaluates locate files by import.meta.url', () => {
    const locating = files.filter((file) =>
      readFileSync(join(src, file), 'utf8').includes('import.meta.url'),
    );
    // They load packages.
    const loading = ['dev/binaries.ts', 'platform/log.ts'];
    const inlined = locating.filter((file) => !loading.includes(file));
    expect(inlined.length).toBeGreaterThan(0);
    expect(inlined.filter((file) => !file.endsWith('.inline.ts'))).toEqual([]);
  });

  it.each([
    // The connector kit never loads the engine.
    ['connector-kit', ['contract', 'values', 'platform']],
    ['connectors', ['contract', 'values', 'platform', 'connector-kit']],
    ['dashboard', ['contract', 'index.ts', 'http']],
    // For browsers: without the engine.
    ['client', ['contract']],
    ['schedule', ['values']],
  ])('layers: %s imports only %j', (layer, allowed) => {
    const others = crossing.filter(
      ({ file, to }) => layerOf(file) === layer && !allowed.includes(layerOf(to)),
    );
    expect(shown(others)).toEqual([]);
  });

  it.each([
    ['http', []],
    ['cli', ['http', 'dev']],
  ])('layers: %s uses what any program can import, and of this package also %j', (layer, edges) => {
    const others = crossing.filter(
      ({ file, to }) =>
        layerOf(file) === layer &&
        !packageEntries.includes(to) &&
        ![...groundLayers, ...edges].includes(layerOf(to)),
    );
    expect(shown(others)).toEqual([]);
  });

  it('layers: the package entries in this test are those of package.json', () => {
    const { exports } = JSON.parse(readFileSync(resolve(src, '../package.json'), 'utf8'));
    const types = Object.values<string | { types: string }>(exports).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.types],
    );
    expect(types.map((path) => path.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts'))).toEqual(packageEntries);
  });

  it('layers: the dashboard loads only constants of other layers; of the API it imports types', () => {
    const loaded = files
      .filter((file) => layerOf(file) === 'dashboard')
      .flatMap((file) => {
        const values = readFileSync(join(src, file), 'utf8').matchAll(
          /^(?:import|export) (?!type )[^;]*? from '(\.[^']+)'/gm,
        );
        return [...values].map(([, from = '']) => ({
          file,
          to: relative(src, resolve(src, dirname(file), from)),
        }));
      })
      .filter(({ to }) => layerOf(to) !== 'dashboard');
    expect(loaded.length).toBeGreaterThan(0);
    expect(shown(loaded.filter(({ to }) => to !== 'contract/states.ts'))).toEqual([]);
  });

  it.each([
    ['budgets', ['credentials']],
    ['webhooks', ['budgets']],
    ['testing', ['store', 'runtime', 'api']],
    ['doctor', ['pipeline', 'runtime', 'api']],
  ])('layers: %s imports none of %j', (layer, forbidden) => {
    const reaching = crossing.filter(
      ({ file, to }) => layerOf(file) === layer && forbidden.includes(layerOf(to)),
    );
    expect(shown(reaching)).toEqual([]);
  });
});

describe('terminal', () => {
  it('terminal: commands use their terminal, not the process', () => {
    const direct = /\bprocess\.(?:argv|env|cwd|stdin|stdout|stderr|exitCode|on)\b/;
    const using = files.filter(
      (file) => layerOf(file) === 'cli' && direct.test(readFileSync(join(src, file), 'utf8')),
    );
    expect(using.sort()).toEqual(['cli/main.ts', 'cli/terminal.ts']);
  });
});

describe('ports', () => {
  const outside = files.filter((file) => file !== 'platform/ports.ts' && layerOf(file) !== 'dashboard');
  const matching = (pattern: RegExp) =>
    outside.filter((file) => pattern.test(readFileSync(join(src, file), 'utf8')));

  // Biome rejects the global timers.
  it('ports: time and randomness come through the ports, except in the browser', () => {
    const direct = /\b(?:Date\.now|performance\.now|Math\.random|process\.hrtime|AbortSignal\.timeout)\b/;
    expect(matching(direct)).toEqual([]);
    expect(matching(/\bnew Date\(\)/)).toEqual([]);
  });

  it('ports: only entry points import the system ports', () => {
    // `syncline/testing` composes contexts without an engine (decision 24).
    const isEntryPoint = (file: string) =>
      layerOf(file) === 'cli' ||
      ['index.ts', 'syncline.ts', 'testing/context.ts', 'testing/record.ts'].includes(file);
    expect(matching(/\bsystemPorts\b/).filter((file) => !isEntryPoint(file))).toEqual([]);
  });
});

describe('names', () => {
  const tests = resolve(src, '../test');
  /** A call and its title. The arguments of `each` or `skipIf` end on its first line, or on a line as far left. */
  const calls =
    /^( *)(it|test|describe)(?:\.\w+(?:<[^\n]*>)?\((?:[^\n]*?|.*?\n\1(?! )[^\n]*?)\))?\(\s*(['"`])((?:\\.|(?!\3).)*)/gms;
  const prefix = /^[\w.-]+(?:,? [\w.-]+){0,2}: \S/;

  /** Titles without a prefix of their own or of a `describe` around them, and the number of calls without a title. */
  function unnamed(text: string): string[] {
    const around: { indent: number; title: string }[] = [];
    const wrong: string[] = [];
    let untitled = text.match(/^ *(?:it|test)[.(]/gm)?.length ?? 0;
    for (const [, { length: indent } = '', kind, , title = ''] of text.matchAll(calls)) {
      while ((around.at(-1)?.indent ?? -1) >= indent) around.pop();
      around.push({ indent, title });
      if (kind === 'describe') continue;
      untitled--;
      if (!around.some((scope) => prefix.test(scope.title))) wrong.push(title);
    }
    return untitled === 0 ? wrong : [...wrong, `${untitled} without a title`];
  }

  it('names: every test name starts with a rule or a topic', () => {
    const wrong = readdirSync(tests, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) =>
        unnamed(readFileSync(join(tests, file), 'utf8')).map((title) => `${file}: ${title}`),
      );
    expect(wrong).toEqual([]);
  });
});

describe('sizes', () => {
  const root = resolve(src, '..');
  /** The client's types and what `doctor` expects. */
  const generated = ['src/client/schema.ts', 'src/store/health/expected-statements.ts'];
  /**
   * URLs, regular expression literals and SVG paths cannot be wrapped; `migrate` prints one line per
   * command that runs outside a transaction.
   */
  const unwrappable = /https?:\/\/|^\/[^/*]|'M\d[\d.\w -]+'|^CREATE INDEX CONCURRENTLY /;

  it('sizes: bench has at most 4,000 lines of code', () => {
    const code = readdirSync(join(root, 'bench'), { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.(?:ts|mjs)$/.test(file) && !/node_modules|^results\//.test(file),
    );
    const lines = code.map((file) => readFileSync(join(root, 'bench', file), 'utf8').split('\n').length - 1);
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(4000);
  });

  it('sizes: lines of src have at most 120 columns', () => {
    const wide = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .map((file) => `src/${file}`)
      .filter((file) => /\.(?:tsx?|sql|css)$/.test(file) && !generated.includes(file))
      .flatMap((file) => {
        const lines = readFileSync(join(root, file), 'utf8').split('\n');
        return lines.filter((line) => line.length > 120).map((line) => ({ file, text: line.trim() }));
      })
      .filter(({ text }) => !unwrappable.test(text))
      .map(({ file, text }) => `${file}: ${text}`);
    expect(wide).toEqual([]);
  });
});
