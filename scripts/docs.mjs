// Serves or builds the documentation site. Its packages are installed on first use: VitePress and typedoc need other
// versions of Vite and TypeScript than the rest of the project. Usage: node scripts/docs.mjs dev | build | preview
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const site = new URL('site/', root);

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const tool = (path, ...args) => run(process.execPath, `site/node_modules/${path}`, ...args);

const lock = (path) => JSON.parse(readFileSync(new URL(path, site), 'utf8')).packages;

/** npm writes the second file last; it lists what is installed. */
function isInstalled() {
  if (!existsSync(new URL('node_modules/.package-lock.json', site))) return false;
  const installed = lock('node_modules/.package-lock.json');
  return Object.entries(lock('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

const command = process.argv[2] ?? 'dev';
if (!isInstalled()) run('npm', '--prefix', 'site', 'ci', '--no-audit', '--no-fund');
tool('typedoc/bin/typedoc', '--options', 'site/typedoc.json', '--logLevel', 'Warn');
if (command === 'build') tool('typescript/bin/tsc', '-p', 'site');
// From the root: started in site/, Vite bundles Vue's compiler into the program that renders the pages.
tool('vitepress/bin/vitepress.js', command, 'site');
