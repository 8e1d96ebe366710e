import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

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
  beforeAll(() => {
    project.folder = realpathSync(mkdtempSync(join(tmpdir(), 'syncline-project-')));
    installPackage(project.folder, how);
  });
  afterAll(() => {
    if (project.folder) rmSync(project.folder, { recursive: true, force: true });
  });
  return project;
}

function installPackage(folder: string, how: 'packed' | 'linked'): void {
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'syncline');
  mkdirSync(modules);
  if (how === 'linked') symlinkSync(root, own);
  else unpack(folder, own);
  linkDependencies(modules);
  linkPrograms(modules);
}

/** Returns the path of the tarball. Does not build: `npm test` has built the package for all test files. */
export function packInto(folder: string): string {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  return join(folder, filename);
}

function unpack(folder: string, own: string): void {
  mkdirSync(own);
  const tarball = packInto(folder);
  execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components', '1']);
  rmSync(tarball);
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
