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
  it('every file belongs to a layer', () => {
    expect(new Set(files.map(layerOf))).toEqual(new Set(layers));
  });

  it('no import points upwards', () => {
    const height = (file: string) => layers.indexOf(layerOf(file));
    expect(shown(crossing.filter(({ file, to }) => height(to) > height(file)))).toEqual([]);
  });

  it('no import bypasses an entry point', () => {
    const bypasses = crossing.filter(
      ({ to }) =>
        contexts.includes(layerOf(to)) && to !== `${layerOf(to)}/index.ts` && !loadedOnDemand.includes(to),
    );
    expect(shown(bypasses)).toEqual([]);
  });

  it('only the store, the Postgres connector and the development database import pg', () => {
    const importing = imports.filter(({ to }) => to === 'pg').map(({ file }) => file);
    const allowed = /^(store|dev)\/|^connectors\/postgres\//;
    expect(importing.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it('only modules that the build evaluates locate files by import.meta.url', () => {
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
  ])('%s imports only %j', (layer, allowed) => {
    const others = crossing.filter(
      ({ file, to }) => layerOf(file) === layer && !allowed.includes(layerOf(to)),
    );
    expect(shown(others)).toEqual([]);
  });

  it.each([
    ['http', []],
    ['cli', ['http', 'dev']],
  ])('%s uses what any program can import, and of this package also %j', (layer, edges) => {
    const others = crossing.filter(
      ({ file, to }) =>
        layerOf(file) === layer &&
        !packageEntries.includes(to) &&
        ![...groundLayers, ...edges].includes(layerOf(to)),
    );
    expect(shown(others)).toEqual([]);
  });

  it('the package entries in this test are those of package.json', () => {
    const { exports } = JSON.parse(readFileSync(resolve(src, '../package.json'), 'utf8'));
    const types = Object.values<string | { types: string }>(exports).flatMap((entry) =>
      typeof entry === 'string' ? [] : [entry.types],
    );
    expect(types.map((path) => path.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts'))).toEqual(packageEntries);
  });

  it('the dashboard loads only constants of other layers; of the API it imports types', () => {
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
  ])('%s imports none of %j', (layer, forbidden) => {
    const reaching = crossing.filter(
      ({ file, to }) => layerOf(file) === layer && forbidden.includes(layerOf(to)),
    );
    expect(shown(reaching)).toEqual([]);
  });
});

describe('terminal', () => {
  it('commands use their terminal, not the process', () => {
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
  it('time and randomness come through the ports, except in the browser', () => {
    const direct = /\b(?:Date\.now|performance\.now|Math\.random|process\.hrtime|AbortSignal\.timeout)\b/;
    expect(matching(direct)).toEqual([]);
    expect(matching(/\bnew Date\(\)/)).toEqual([]);
  });

  it('only entry points import the system ports', () => {
    const isEntryPoint = (file: string) =>
      layerOf(file) === 'cli' ||
      ['index.ts', 'syncline.ts', 'testing/context.ts', 'testing/record.ts'].includes(file);
    expect(matching(/\bsystemPorts\b/).filter((file) => !isEntryPoint(file))).toEqual([]);
  });
});
