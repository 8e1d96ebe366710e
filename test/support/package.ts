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

/** What a project has in its `node_modules` besides the package, as if it had installed it. */
const tools = ['vitest', 'typescript'];

export interface TestProject {
  folder: string;
  /** Finds the project's own programs first. */
  path(): string;
}

/**
 * A project in a folder of its own that has installed the package: as it would be published, packed and unpacked, or only
 * linked, which is quicker. What it depends on is linked to what is installed here, so that nothing is asked of the network.
 */
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

function unpack(folder: string, own: string): void {
  mkdirSync(own);
  // Nothing is built here: that is the work of `npm test`, which other test files rely on as well.
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', own, '--strip-components', '1']);
  rmSync(join(folder, filename));
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
  // What npx does, without npm's own start, which takes longer than what it starts.
  writeFileSync(join(programs, 'npx'), `#!/bin/sh\nprogram=$1\nshift\nexec "${programs}/$program" "$@"\n`, {
    mode: 0o755,
  });
}
