// Compiles src/ to dist/, puts the plain-SQL migrations beside the code that reads them, and builds the dashboard.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'vite';

const tsc = createRequire(import.meta.url)
  .resolve('typescript/package.json')
  .replace('package.json', 'bin/tsc');

rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
cpSync('src/store/migrations', 'dist/store/migrations', { recursive: true });
chmodSync('dist/cli/main.js', 0o755);
await build({ configFile: 'src/dashboard/vite.config.ts', logLevel: 'warn' });
