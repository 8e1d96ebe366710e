// Serves or builds the documentation site. Its packages are installed on first use: VitePress and typedoc need other
// versions of Vite and TypeScript than the rest of the project. Usage: node scripts/docs.mjs dev | build | preview
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const site = new URL('../site/', import.meta.url);

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: site, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const lock = (path) => JSON.parse(readFileSync(new URL(path, site), 'utf8')).packages;

/** npm writes the second file last; it lists what is installed. */
function isInstalled() {
  if (!existsSync(new URL('node_modules/.package-lock.json', site))) return false;
  const installed = lock('node_modules/.package-lock.json');
  return Object.entries(lock('package-lock.json')).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  );
}

if (!isInstalled()) run('npm', 'ci', '--no-audit', '--no-fund');
run(process.execPath, 'node_modules/typedoc/bin/typedoc', '--logLevel', 'Warn');
run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', process.argv[2] ?? 'dev', '.');
