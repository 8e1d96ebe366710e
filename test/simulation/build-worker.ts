import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bundle, bundleScript } from '../support/bundle.ts';
import type { Edit, Mutant } from './mutants.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export async function buildWorker(mutant?: Mutant): Promise<Bundle> {
  const edits = mutant?.edits ?? [];
  for (const edit of edits) applyEdit(readFileSync(join(root, edit.file), 'utf8'), edit);
  const bundle = await bundleScript('test/simulation/worker.ts', [
    {
      name: 'mutate',
      enforce: 'pre',
      transform: (code, id) => {
        const file = relative(root, id).split(sep).join('/');
        const fileEdits = edits.filter((edit) => edit.file === file);
        return fileEdits.length === 0 ? undefined : fileEdits.reduce(applyEdit, code);
      },
    },
  ]);
  for (const edit of edits.filter(({ file }) => file.endsWith('.sql'))) {
    const path = join(bundle.migrations, basename(edit.file));
    writeFileSync(path, applyEdit(readFileSync(path, 'utf8'), edit));
  }
  return bundle;
}

/** Throws unless the text occurs exactly once: update the mutant with the code. */
function applyEdit(code: string, { file, find, replace }: Edit): string {
  const count = code.split(find).length - 1;
  if (count !== 1)
    throw new Error(`The text of a mutant occurs ${count} times in ${file}, expected once:\n${find}`);
  return code.replace(find, () => replace);
}
