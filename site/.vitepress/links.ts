import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MarkdownEnv, MarkdownRenderer } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  repository: { url: string };
};

/** Where the sources are, without `git+` and `.git`. */
export const sourceUrl = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** Pages link to files of the repository by relative paths; outside docs/ they are not part of the site. */
export function linkSources(md: MarkdownRenderer): void {
  md.core.ruler.push('link-sources', (state) => {
    const { path } = state.env as MarkdownEnv;
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      const url = href && sourceOf(path, href);
      if (url) token.attrSet('href', url);
    }
  });
}

function sourceOf(page: string, href: string): string | undefined {
  if (/^[a-z]+:|^[#/]/i.test(href)) return undefined;
  const [path = '', anchor] = href.split('#');
  const file = join(dirname(page), decodeURI(path));
  const inRepository = relative(root, file);
  if (inRepository.startsWith('docs/') || !existsSync(file)) return undefined;
  const kind = statSync(file).isDirectory() ? 'tree' : 'blob';
  return `${sourceUrl}/${kind}/main/${inRepository}${anchor ? `#${anchor}` : ''}`;
}
