import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Block, blocksOf, pages, root } from '../support/markdown.ts';
import { useProject } from '../support/package.ts';
import { startProcess } from '../support/process.ts';

const project = useProject('linked');

/** As a strict project would check them. */
const compilerOptions = {
  strict: true,
  module: 'nodenext',
  moduleResolution: 'nodenext',
  moduleDetection: 'force',
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true,
};

/** One file per block, whose line numbers are those of the page; also by its name if it has one, for imports. */
function writeBlock({ path, line, words, text, setup }: Block): void {
  const folder = join(project.folder, 'pages', path.replace(/\.md$/, ''));
  mkdirSync(folder, { recursive: true });
  const names = setup.length > 0 ? `import { ${setup.join(', ')} } from '#setup';` : '';
  for (const name of words === '' ? [`${line}.ts`] : [`${line}.ts`, words])
    writeFileSync(join(folder, name), `${'\n'.repeat(line - 1)}${names}\n${text}`);
}

describe('docs: TypeScript', () => {
  it('docs: every ts block of README.md and docs/ compiles against the package', async () => {
    const blocks = pages()
      .flatMap(blocksOf)
      .filter(({ language }) => language === 'ts');
    expect(blocks.length).toBeGreaterThan(25);
    writeFileSync(
      join(project.folder, 'package.json'),
      JSON.stringify({ name: 'pages', type: 'module', private: true, imports: { '#setup': './setup.ts' } }),
    );
    writeFileSync(
      join(project.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['pages', 'setup.ts'] }),
    );
    cpSync(join(root, 'test/docs/setup.ts'), join(project.folder, 'setup.ts'));
    for (const block of blocks) writeBlock(block);
    const { stdout } = await startProcess('npx', ['tsc', '-p', '.', '--pretty', 'false'], {
      cwd: project.folder,
      env: { PATH: project.path() },
    }).finished;
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual([]);
  });
});
