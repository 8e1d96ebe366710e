import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { startProcess } from './process.ts';
import { sharedFolder } from './shared.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const tools = ['vitest', 'typescript'];

export interface TestProject {
  folder: string;
  /** PATH with the project's programs first. */
  path(): string;
}

/** A project that has installed the package, packed as published or linked (faster). Needs no network. */
export function useProject(how: 'packed' | 'linked'): TestProject {
  const project: TestProject = {
    folder: '',
    path: () => `${join(project.folder, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`,
  };
  beforeAll(async () => {
    project.folder = realpathSync(mkdtempSync(join(tmpdir(), 'syncline-project-')));
    await installPackage(project.folder, how);
  });
  afterAll(() => {
    if (project.folder) rmSync(project.folder, { recursive: true, force: true });
  });
  return project;
}

async function installPackage(folder: string, how: 'packed' | 'linked'): Promise<void> {
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'syncline');
  mkdirSync(modules);
  if (how === 'linked') symlinkSync(root, own);
  else await unpack(own);
  linkDependencies(modules);
  linkPrograms(modules);
}

/** Packed once per build. Does not build: `npm test` has built the package for all test files. */
export async function packedTarball(): Promise<string> {
  const folder = await sharedFolder(`packed-${builtAt()}`, (path) => {
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', path], {
      cwd: root,
      stdio: 'ignore',
    });
  });
  return join(folder, readdirSync(folder)[0] as string);
}

/** An empty project into which npm has installed the packed package and its dependencies, for all test files. */
export function installedProject(): Promise<string> {
  return sharedFolder(`installed-${builtAt()}`, async (folder) => {
    const manifest = { name: 'empty', private: true, type: 'module' };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    await npmInstall(folder, await packedTarball());
  });
}

/** Dependencies come from the registry, which may be slow. */
export async function npmInstall(folder: string, ...packages: string[]): Promise<void> {
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages];
  const installed = await startProcess('npm', args, { cwd: folder, env: withoutNpmVariables }).finished;
  if (installed.code !== 0) throw new Error(`npm ${args.join(' ')} failed: ${installed.stderr}`);
}

/** The npm variables of the test run point to this project. */
export const withoutNpmVariables: NodeJS.ProcessEnv = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => name.startsWith('npm_'))
    .map((name) => [name, undefined]),
);

const builtAt = () => readFileSync(join(root, 'dist/.built'), 'utf8');

async function unpack(own: string): Promise<void> {
  mkdirSync(own);
  execFileSync('tar', ['-xzf', await packedTarball(), '-C', own, '--strip-components', '1']);
}

function linkDependencies(modules: string): void {
  const installed = join(root, 'node_modules');
  for (const name of readdirSync(installed)) {
    if (name.startsWith('.') || name === 'syncline') continue;
    symlinkSync(join(installed, name), join(modules, name));
  }
}

function linkPrograms(modules: string): void {
  const programs = join(modules, '.bin');
  mkdirSync(programs);
  symlinkSync('../syncline/dist/cli/main.js', join(programs, 'syncline'));
  for (const name of readdirSync(join(root, 'node_modules/.bin')))
    if ([...tools, 'tsc'].includes(name))
      symlinkSync(realpathSync(join(root, 'node_modules/.bin', name)), join(programs, name));
  // Replaces npx, whose startup takes longer than the programs it runs.
  writeFileSync(join(programs, 'npx'), `#!/bin/sh\nprogram=$1\nshift\nexec "${programs}/$program" "$@"\n`, {
    mode: 0o755,
  });
}
