// Builds the dashboard, bundles the package's entry points to dist/ and writes their types.
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
import { createJiti } from 'jiti';

/** Holds the start time of the last build. */
const marker = 'dist/.built';
const { bin, exports } = JSON.parse(readFileSync('package.json', 'utf8'));
const commands = Object.values(bin);
const sources = ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

/**
 * Evaluates `*.inline.ts` now and keeps the values of its exports: the package reads no file next to
 * itself, so applications can bundle it.
 */
const inline = {
  name: 'inline',
  async load(id) {
    if (!id.endsWith('.inline.ts')) return undefined;
    const exported = await createJiti(import.meta.url).import(id);
    const constants = Object.entries(exported).map(
      ([name, value]) => `export const ${name} = ${JSON.stringify(value)};`,
    );
    return { code: constants.join('\n'), map: null };
  },
  generateBundle(_options, files) {
    for (const { fileName, code } of Object.values(files))
      if (/new URL\([^)]*import\.meta\.url/.test(code ?? ''))
        this.error(`dist/${fileName} locates a file by import.meta.url. Read it in a module *.inline.ts.`);
  },
};

if (!(process.argv.includes('--if-stale') && isFresh())) await build();

async function build() {
  const startedMs = Date.now();
  const tsc = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace('package.json', 'bin/tsc');
  const vite = await import('vite');
  rmSync('dist', { recursive: true, force: true });
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  await vite.build({ configFile: 'src/dashboard/vite.config.ts', logLevel: 'warn' });
  await bundle(vite);
  // To read; the engine contains them.
  cpSync('src/store/migrations', 'dist/store/migrations', { recursive: true });
  for (const path of commands) chmodSync(path, 0o755);
  writeFileSync(marker, String(startedMs));
}

/** A process loads a few files instead of 200. One build for all entry points, so they share every class. */
async function bundle(vite) {
  const entries = [...commands, ...Object.values(exports).flatMap((entry) => entry.default ?? [])];
  await vite.build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    plugins: [inline],
    ssr: { external: true },
    build: {
      ssr: true,
      outDir: 'dist',
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      sourcemap: true,
      rolldownOptions: {
        input: Object.fromEntries(entries.map(inputOf)),
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name].js' },
      },
    },
  });
}

/** `./dist/testing/index.js` is built from `src/testing/index.ts`. */
function inputOf(path) {
  const [, name] = /^(?:\.\/)?dist\/(.+)\.js$/.exec(path);
  return [name, `src/${name}.ts`];
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
