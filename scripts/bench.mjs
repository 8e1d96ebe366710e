// Runs bench/main.ts on the Node that the bench package brings along, after installing that package if its lock has changed.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const lock = 'bench/package-lock.json';
/** npm writes it at the end of an installation. */
const installed = 'bench/node_modules/.package-lock.json';

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  // Not `npm ci`: it refuses a lock without the optional packages of other systems, which no registry has to have.
  run('npm', ['install', '--no-save', '--prefix', 'bench', '--no-audit', '--no-fund'], {
    shell: process.platform === 'win32',
  });
}
run('bench/node_modules/node/bin/node', ['bench/main.ts', ...process.argv.slice(2)]);

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
