// Runs a script of bench/ on the Node version of the bench package: node scripts/bench.mjs <script> [options].
// Installs the package first if its lock file changed.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const lock = 'bench/package-lock.json';
// npm writes this file at the end of an installation.
const installed = 'bench/node_modules/.package-lock.json';

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  // `npm ci` rejects a lock file without the optional packages of other platforms.
  run('npm', ['install', '--no-save', '--prefix', 'bench', '--no-audit', '--no-fund'], {
    shell: process.platform === 'win32',
  });
}
const [script, ...options] = process.argv.slice(2);
run('bench/node_modules/node/bin/node', [`bench/${script}`, ...options]);

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
