// Compiles src/ to dist/, copies the SQL migrations and builds the dashboard.
// With --if-stale, only if a source file is newer than the last build.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Holds the start time of the last build. */
const marker = 'dist/.built';
const sources = ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

if (!(process.argv.includes('--if-stale') && isFresh())) await build();

async function build() {
  const startedMs = Date.now();
  const tsc = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace('package.json', 'bin/tsc');
  const vite = await import('vite');
  rmSync('dist', { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  cpSync('src/store/migrations', 'dist/store/migrations', { recursive: true });
  chmodSync('dist/cli/main.js', 0o755);
  await vite.build({ configFile: 'src/dashboard/vite.config.ts', logLevel: 'warn' });
  writeFileSync(marker, String(startedMs));
}

function isFresh() {
  return existsSync(marker) && Math.max(...sources.map(newestMs)) < Number(readFileSync(marker, 'utf8'));
}

function newestMs(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  // Deleting a file updates the mtime of its directory.
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}
