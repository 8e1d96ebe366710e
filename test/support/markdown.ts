import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Page {
  /** Relative to the repository. */
  path: string;
  text: string;
}

/** README.md and docs/, without pages that the site generates. */
export function pages(): Page[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', 'README.md', 'docs/**.md'],
    { cwd: root, encoding: 'utf8' },
  );
  return listed
    .trim()
    .split('\n')
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

export interface Block {
  path: string;
  /** Of the opening fence. */
  line: number;
  language: string;
  /** What follows the language: a file name or an instruction. */
  words: string;
  text: string;
  /** Names in an HTML comment `<!-- setup: a, b -->` right before the block. */
  setup: string[];
}

/** The fenced code blocks of a page. Fences of blocks in lists are indented. */
export function blocksOf({ path, text }: Page): Block[] {
  const fences =
    /(?:^[ \t]*<!-- setup: (?<setup>[^>]*) -->\n\s*)?^(?<indent> *)```(?<language>\w*) ?(?<words>.*)\n(?<body>[\s\S]*?)^\k<indent>```$/gm;
  return [...text.matchAll(fences)].map(({ groups = {}, index, 0: all }) => {
    const { setup = '', indent = '', language = '', words = '', body = '' } = groups;
    const fence = index + all.indexOf('```');
    return {
      path,
      line: text.slice(0, fence).split('\n').length,
      language,
      words,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      setup: setup.split(',').flatMap((name) => name.trim() || []),
    };
  });
}

/** The text without code blocks and code spans, in which `[a](b)` is not a link. */
export const withoutCode = (text: string): string =>
  text
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]*`/g, '');
