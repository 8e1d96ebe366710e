import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Connector } from '../contract/connector.ts';
import { describeError, invalidArgument } from '../contract/errors.ts';
import { invalid, show } from '../values/arguments.ts';
import { terminal } from './terminal.ts';

/** Bypasses the module cache, also for imports. */
export async function loadConnector(file: string): Promise<Connector> {
  const path = resolve(terminal().cwd, file);
  if (!existsSync(path) || !statSync(path).isFile())
    throw invalidArgument({
      field: '<file>',
      expected: 'an existing file',
      value: show(file),
      hint: 'Create one with `syncline connector new <name>`.',
    });
  return /\.ya?ml$/i.test(file) ? fromYaml(path, file) : fromModule(path, file);
}

async function fromModule(path: string, file: string): Promise<Connector> {
  const { createJiti } = await import('jiti');
  const jiti = createJiti(pathToFileURL(path).href, { moduleCache: false });
  const exported = await jiti.import<Record<string, unknown>>(path).catch((cause: unknown) => {
    throw invalid(`${file} could not be loaded: ${describeError(cause)}`);
  });
  return onlyConnector(exported, file);
}

async function fromYaml(path: string, file: string): Promise<Connector> {
  // Slow to load.
  const { httpFromYaml } = await import('../connectors/index.ts');
  try {
    return httpFromYaml(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid(`${file} could not be loaded: ${describeError(cause)}`);
  }
}

async function onlyConnector(exported: Record<string, unknown>, file: string): Promise<Connector> {
  const { default: defaultExport, __esModule: _, ...named } = exported;
  const [preferred] = await connectorsIn({ default: defaultExport }, file);
  if (preferred) return preferred[1];
  const found = await connectorsIn(named, file);
  const names = Object.keys(named).slice(0, 5).join(', ');
  if (found.length > 1)
    throw invalid(
      `${file} exports ${found.length} connectors: ${found.map(([name]) => name).join(', ')}.`,
      'Export the connector to run as the default export.',
    );
  if (found[0]) return found[0][1];
  throw invalid(
    `${file} exports no connector; it exports ${names || 'nothing'}.`,
    'Export the result of defineConnector, or a function without parameters that returns it.',
  );
}

async function connectorsIn(exported: Record<string, unknown>, file: string): Promise<[string, Connector][]> {
  const entries = Object.entries(exported);
  const found = entries.filter((entry): entry is [string, Connector] => isConnector(entry[1]));
  if (found.length > 0) return found;
  const created: [string, Connector][] = [];
  for (const [name, make] of entries) {
    if (typeof make !== 'function' || make.length > 0) continue;
    const result = await callFactory(make as () => unknown, `${file}: ${name}()`);
    if (isConnector(result)) created.push([name, result]);
  }
  return created;
}

async function callFactory(make: () => unknown, label: string): Promise<unknown> {
  try {
    return await make();
  } catch (error) {
    throw invalid(`${label} failed: ${describeError(error)}`);
  }
}

function isConnector(value: unknown): value is Connector {
  if (typeof value !== 'object' || value === null) return false;
  const { provider, sync } = value as Partial<Connector>;
  return typeof provider === 'string' && typeof sync === 'function';
}
