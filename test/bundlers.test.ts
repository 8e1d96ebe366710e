import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build as esbuild } from 'esbuild';
import { build as vite } from 'vite';
import { describe, expect, it } from 'vitest';
import { migrations } from '../src/store/migrations.inline.ts';
import { useDatabase } from './support/database.ts';
import { useFolder } from './support/folder.ts';
import { useProject } from './support/package.ts';
import { sampled } from './support/size.ts';

const db = useDatabase();
/** Where the application is built: it has the package and its dependencies. */
const project = useProject('packed');
/** Where it runs: without node_modules. */
const elsewhere = useFolder();

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const program = readFileSync('test/support/fixtures/bundled.mjs', 'utf8');

async function run(script: string, schema: string) {
  const { PATH } = process.env;
  const env = { PATH, DATABASE_URL: db.url, SYNCLINE_DATABASE_SCHEMA: schema };
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: elsewhere(), env });
  return JSON.parse(stdout) as unknown;
}

const expected = {
  applied: migrations.map(({ name }) => name),
  signals: 1,
  page: 200,
  script: 200,
  connections: 1,
  version,
  refused: true,
};

function entry(): string {
  const path = join(project.folder, 'program.mjs');
  writeFileSync(path, program);
  return path;
}

/** esbuild's modules have no `require`, which CommonJS dependencies call for modules of Node. */
const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;

describe('bundlers', () => {
  it.each(
    sampled(
      [
        ['esm', 'program.mjs', { js: banner }],
        ['cjs', 'program.cjs', {}],
      ] as const,
      2,
    ),
  )(
    'bundlers: an application bundled with esbuild as %s needs no other file',
    async (format, file, header) => {
      const outfile = join(elsewhere(), file);
      await esbuild({
        entryPoints: [entry()],
        bundle: true,
        platform: 'node',
        target: 'node20',
        logLevel: 'error',
        format,
        outfile,
        banner: header,
      });
      expect(await run(outfile, `esbuild_${format}`)).toEqual(expected);
    },
  );

  it('bundlers: an application bundled with Vite for SSR needs no other file', async () => {
    const outDir = join(elsewhere(), 'vite');
    await mkdir(outDir, { recursive: true });
    await vite({
      root: project.folder,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: {
        ssr: entry(),
        outDir,
        emptyOutDir: true,
        target: 'node20',
        rolldownOptions: { output: { entryFileNames: 'program.mjs' } },
      },
    });
    expect(await run(join(outDir, 'program.mjs'), 'vite')).toEqual(expected);
  });
});
