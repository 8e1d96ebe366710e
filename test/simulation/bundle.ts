import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import type { Edit, Mutant } from './mutants.ts';

export interface Bundle {
  /** What node runs. */
  script: string;
  remove(): void;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The simulation and the engine in one file, with a mutant's mistakes in it. Under node_modules, so that packages are found
 * from there.
 */
export async function bundle(mutant?: Mutant): Promise<Bundle> {
  const edits = mutant?.edits ?? [];
  for (const edit of edits) edited(readFileSync(join(root, edit.file), 'utf8'), edit);
  const cache = join(root, 'node_modules/.cache/syncline-sim');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'bundle-'));
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [
      {
        name: 'mutate',
        enforce: 'pre',
        transform: (code, id) => {
          const file = relative(root, id).split(sep).join('/');
          const mine = edits.filter((edit) => edit.file === file);
          return mine.length === 0 ? undefined : mine.reduce(edited, code);
        },
      },
    ],
    build: {
      ssr: 'test/simulation/worker.ts',
      outDir: folder,
      target: 'node20',
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'worker.mjs', codeSplitting: false } },
    },
  });
  cpSync(join(root, 'src/store/migrations'), join(folder, 'migrations'), { recursive: true });
  for (const edit of edits.filter(({ file }) => file.endsWith('.sql'))) {
    const path = join(folder, 'migrations', edit.file.split('/').at(-1) as string);
    writeFileSync(path, edited(readFileSync(path, 'utf8'), edit));
  }
  return {
    script: join(folder, 'worker.mjs'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A mutant that does not fit the code any more proves nothing: it must be mended with the code. */
function edited(code: string, { file, find, replace }: Edit): string {
  const times = code.split(find).length - 1;
  if (times !== 1) throw new Error(`A mutant's text is ${times} times in ${file}, not once:\n${find}`);
  return code.replace(find, () => replace);
}
