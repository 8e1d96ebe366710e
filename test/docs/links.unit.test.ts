import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { slugOf } from '../../site/.vitepress/slug.ts';
import { pages, root, withoutCode } from '../support/markdown.ts';

/** Anchors of headings as GitHub numbers repeated ones, and explicit ids. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const outsideBlocks = text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
  for (const [, heading = ''] of outsideBlocks.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

const allowedTags = ['a', 'br', 'details', 'img', 'summary'];

const targetsOf = (text: string) =>
  [...withoutCode(text).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|(?:href|src)="([^"]+)"/g)].map(
    ([, markdown, html]) => (markdown ?? html) as string,
  );

/** What is wrong with a link of a page, or nothing. */
function problemOf(page: string, target: string): string | undefined {
  if (/^[a-z]+:/i.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : join(dirname(page), decodeURI(path));
  if (file.startsWith('..')) return 'leaves the repository';
  if (!existsSync(join(root, file))) return 'does not exist';
  if (anchor === undefined) return undefined;
  const shown = statSync(join(root, file)).isDirectory() ? join(file, 'README.md') : file;
  if (!shown.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(join(root, shown), 'utf8')).has(anchor) ? undefined : 'has no such heading';
}

describe('docs: links', () => {
  it('docs: every internal link leads to a file and a heading that exist', () => {
    const links = pages().flatMap(({ path, text }) => targetsOf(text).map((target) => ({ path, target })));
    expect(links.length).toBeGreaterThan(200);
    const broken = links.flatMap(({ path, target }) => {
      const problem = problemOf(path, target);
      return problem ? [`${path}: ${target} ${problem}`] : [];
    });
    expect(broken).toEqual([]);
  });

  it('docs: placeholders such as <id> are code, because outside of it they are HTML', () => {
    const found = pages()
      .filter(({ path }) => path.startsWith('docs/'))
      .flatMap(({ path, text }) =>
        [...withoutCode(text).matchAll(/(?<!\\)<(?!https?:|!--)\/?([a-z][\w-]*)[^>]*>/gi)]
          .filter(([, tag = '']) => !allowedTags.includes(tag))
          .map(([tag]) => `${path}: ${tag}`),
      );
    expect(found).toEqual([]);
  });

  it('docs: an anchor is made as on GitHub', () => {
    expect(slugOf('`connections.metadata.sync`')).toBe('connectionsmetadatasync');
    expect(slugOf('Limits, and what happens beyond them')).toBe('limits-and-what-happens-beyond-them');
    expect([...anchorsOf('# One\n## Two\n### Two\n')]).toEqual(['one', 'two', 'two-1']);
  });
});
