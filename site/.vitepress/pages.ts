import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('../../docs', import.meta.url));

/** Pages in the order of the sidebar, as paths below docs/. A folder stands for its pages that are not listed. */
const order: [group: string, pages: string[], isCollapsed?: true][] = [
  ['Start', ['quickstart', 'guides/write-a-connector', 'guides/embed', 'guides/cron-style', 'faq']],
  [
    'Concepts',
    [
      'concepts/connections-and-jobs',
      'concepts/scheduling',
      'concepts/runs-and-signals',
      'concepts/cursors-and-the-feed',
      'concepts',
      'glossary',
    ],
  ],
  [
    'Guides',
    [
      'guides/consume-the-feed',
      'guides/oauth-app',
      'guides/multi-tenant',
      'guides/test-connectors',
      'guides/adopt-tables',
      'guides/recipes',
      'guides',
    ],
  ],
  [
    'Production',
    [
      'guides/production-checklist',
      'guides/deploy',
      'guides/upgrade',
      'guides/database-roles',
      'guides/on-call',
      'guides/troubleshooting',
      'guarantees',
      'security',
    ],
  ],
  ['Platforms', ['platforms']],
  ['Connectors', ['connectors/README', 'connectors']],
  [
    'Reference',
    [
      'reference/configuration',
      'reference/cli',
      'reference/api',
      'reference/client',
      'reference/errors',
      'reference/metrics',
      'reference/doctor',
      'reference/tables',
      'reference/feed',
      'reference/connectors',
      'reference/connector-kit',
      'reference/testing',
      'reference/credentials',
      'reference/budgets',
      'reference/webhooks',
      'reference',
      'reference/typescript/README',
    ],
  ],
  ['Internals', ['internals/architecture', 'internals', 'benchmarks', 'soak'], true],
  ['Decisions', ['decisions/README', 'decisions'], true],
];

interface Link {
  text: string;
  link: string;
}

/** Only pages that exist, so a page may be added or removed without a change here. */
export function sidebar() {
  const listed = new Set(order.flatMap(([, pages]) => pages));
  return order
    .map(([text, pages, collapsed]) => ({
      text,
      items: pages.flatMap((page) => linksOf(page, listed)),
      ...(collapsed && { collapsed }),
    }))
    .filter(({ items }) => items.length > 0);
}

function linksOf(page: string, listed: Set<string>): Link[] {
  if (existsSync(join(docs, `${page}.md`))) return [linkTo(page)];
  if (!existsSync(join(docs, page))) return [];
  return readdirSync(join(docs, page))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => `${page}/${file.slice(0, -3)}`)
    .filter((path) => !listed.has(path))
    .sort()
    .map(linkTo);
}

function linkTo(page: string): Link {
  const text = readFileSync(join(docs, `${page}.md`), 'utf8');
  return { text: shortTitles[page] ?? titleOf(text) ?? page, link: `/${page.replace(/README$/, '')}` };
}

const titleOf = (text: string) => /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '');

/** Where the title is longer than the sidebar is wide, or says less there than on its page. */
const shortTitles: Record<string, string> = {
  'connectors/README': 'Overview',
  'decisions/README': 'Overview',
  'reference/api': 'HTTP API',
  'reference/connectors': 'Connector contract',
  'reference/testing': 'Testing',
  'reference/typescript/README': 'TypeScript',
};
