import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import type { Edit, Mutant } from './mutants.ts';

export interface BuiltWorker {
  script: string;
  remove(): void;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The output is below node_modules, so that imports of packages resolve. */
export async function buildWorker(mutant?: Mutant): Promise<BuiltWorker> {
  const edits = mutant?.edits ?? [];
  for (const edit of edits) applyEdit(readFileSync(join(root, edit.file), 'utf8'), edit);
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
          const fileEdits = edits.filter((edit) => edit.file === file);
          return fileEdits.length === 0 ? undefined : fileEdits.reduce(applyEdit, code);
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
    writeFileSync(path, applyEdit(readFileSync(path, 'utf8'), edit));
  }
  return {
    script: join(folder, 'worker.mjs'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Throws unless the text occurs exactly once: update the mutant with the code. */
function applyEdit(code: string, { file, find, replace }: Edit): string {
  const count = code.split(find).length - 1;
  if (count !== 1)
    throw new Error(`The text of a mutant occurs ${count} times in ${file}, expected once:\n${find}`);
  return code.replace(find, () => replace);
}
