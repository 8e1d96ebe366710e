import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import type { Connector } from '../contract/connector.ts';
import { describeError } from '../contract/errors.ts';
import { invalid } from '../values/arguments.ts';

/** Loads the one connector that a file exports, as it is now: also what it imports is read again. */
export async function loadConnector(file: string): Promise<Connector> {
  const path = resolve(file);
  if (!existsSync(path) || !statSync(path).isFile())
    throw invalid(
      `The connector file ${file} does not exist.`,
      'Name an existing file, or make one with `syncline connector new <name>`.',
    );
  return /\.ya?ml$/i.test(file) ? fromYaml(path, file) : fromModule(path, file);
}

async function fromModule(path: string, file: string): Promise<Connector> {
  const jiti = createJiti(pathToFileURL(path).href, { moduleCache: false });
  const exported = await jiti.import<Record<string, unknown>>(path).catch((cause: unknown) => {
    throw invalid(`${file} could not be loaded: ${describeError(cause)}`);
  });
  return onlyConnector(exported, file);
}

async function fromYaml(path: string, file: string): Promise<Connector> {
  // Here alone, because it takes a while to load, and no other command needs it.
  const { httpFromYaml } = await import('../connectors/http/index.ts');
  try {
    return httpFromYaml(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid(`${file} could not be loaded: ${describeError(cause)}`);
  }
}

/** The default export comes first; among the others there must be one connector and no more. */
async function onlyConnector(exported: Record<string, unknown>, file: string): Promise<Connector> {
  const { default: meant, __esModule: _, ...named } = exported;
  const [only] = await connectorsIn({ default: meant }, file);
  if (only) return only[1];
  const found = await connectorsIn(named, file);
  const names = Object.keys(named).slice(0, 5).join(', ');
  if (found.length > 1)
    throw invalid(
      `${file} exports ${found.length} connectors: ${found.map(([name]) => name).join(', ')}.`,
      'Export the one to run as default.',
    );
  if (found[0]) return found[0][1];
  throw invalid(
    `${file} exports no connector; it exports ${names || 'nothing'}.`,
    'Export what defineConnector returns, or a function that returns it without being told anything.',
  );
}

/** Functions are called only where there is nothing else: they may be meant for something else. */
async function connectorsIn(exported: Record<string, unknown>, file: string): Promise<[string, Connector][]> {
  const entries = Object.entries(exported);
  const found = entries.filter((entry): entry is [string, Connector] => isConnector(entry[1]));
  if (found.length > 0) return found;
  const made: [string, Connector][] = [];
  for (const [name, make] of entries) {
    if (typeof make !== 'function' || make.length > 0) continue;
    const one = await madeBy(make as () => unknown, `${file}: ${name}()`);
    if (isConnector(one)) made.push([name, one]);
  }
  return made;
}

async function madeBy(make: () => unknown, what: string): Promise<unknown> {
  try {
    return await make();
  } catch (error) {
    throw invalid(`${what} made no connector: ${describeError(error)}`);
  }
}

function isConnector(value: unknown): value is Connector {
  if (typeof value !== 'object' || value === null) return false;
  const { provider, sync } = value as Partial<Connector>;
  return typeof provider === 'string' && typeof sync === 'function';
}
