// Compiles src/ to dist/, puts the plain-SQL migrations beside the code that reads them, and builds the dashboard.
// With --if-stale only if something has changed since: `npm start` should not make anybody wait for nothing.
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

/** Says when the build that is there began. */
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
  // A file that was removed shows in the time of its folder.
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}
