import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { serviceRoles } from '../../src/cli/service.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/settings.ts';
import { runCli } from '../support/process.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const readDeployed = (path: string) => readFileSync(`${root}/deploy/${path}`, 'utf8');

export function readYaml<T>(path: string): T[] {
  return parseAllDocuments(readDeployed(path), { merge: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as T;
  });
}

/** Fails unless every variable is a setting and every value is allowed. */
export function configOf(env: Record<string, string>): Config {
  const placeholder = 'replace-with-the-output-of-keygen';
  const key = Buffer.alloc(32).toString('base64');
  const values = Object.entries(env).map(([name, value]) => [name, value.replace(placeholder, key)]);
  const { config, entries, warnings } = loadConfig({ env: Object.fromEntries(values) });
  const used = entries.map(({ from }) => from).join('\n');
  for (const name of Object.keys(env).filter((candidate) => candidate.startsWith('SYNCLINE_')))
    expect(used).toContain(name);
  expect(warnings).toEqual([]);
  return config;
}

/** The command parses; without a database it ends before it does anything. */
export async function expectCommand(args: readonly string[]): Promise<void> {
  const env = { SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0' };
  const { code, stderr } = await runCli(args, { env, cwd: tmpdir() });
  expect({ args, code, stderr }).toEqual({
    args,
    code: 1,
    stderr: expect.stringMatching(/^error: No database is configured\./),
  });
}

const rolesOf = (args: readonly string[]): readonly string[] =>
  args.includes('--roles') ? (args[args.indexOf('--roles') + 1] ?? '').split(',') : serviceRoles;

export function expectAllRoles(commands: readonly (readonly string[])[]): void {
  const started = commands.filter(([name]) => name === 'start').flatMap(rolesOf);
  expect([...new Set(started)].sort()).toEqual([...serviceRoles].sort());
}

export const isInstalled = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
