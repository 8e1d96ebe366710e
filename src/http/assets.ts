import { extname } from 'node:path';
import type { Context } from 'hono';
import type { App, HttpEnv } from './context.ts';
import { escapeHtml, page } from './page.ts';
import { Problem } from './problem.ts';

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** Texts by path, such as `assets/index.js`. */
export type DashboardFiles = Readonly<Record<string, string>>;

/** Only for the dashboard: 180 KB. */
export const loadDashboard = async (): Promise<DashboardFiles> =>
  (await import('./dashboard.inline.ts')).files;

const clientRoutes = /^\/((connections|jobs)(\/[^/]+)?|signals|system|audit|keys)?\/?$/;
/** With a content hash: cached forever. */
const hashedName = /^assets\/.+-[\w-]{8,}\.\w+$/;

export function dashboardRoutes(
  app: App,
  load: () => Promise<DashboardFiles>,
  { isDemo }: { isDemo: boolean },
): void {
  app.get('/docs', (c) => html(c, 'docs.html'));
  app.get('*', async (c, next) => {
    const path = c.get('path');
    const name = path.slice(1);
    const text = await textOf(name);
    if (text !== undefined) return name.endsWith('.html') ? html(c, name) : file(c, name, text);
    if (clientRoutes.test(path) || isNavigation(c, path)) return html(c, 'index.html');
    return next();
  });

  /** Only listed files: no path traversal. */
  async function textOf(name: string): Promise<string | undefined> {
    const files = await load();
    return Object.hasOwn(files, name) ? files[name] : undefined;
  }

  function file(c: Context<HttpEnv>, name: string, text: string) {
    const type = contentTypes[extname(name).toLowerCase()] ?? 'application/octet-stream';
    const cacheControl = hashedName.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache';
    return c.body(text, 200, { 'content-type': type, 'cache-control': cacheControl });
  }

  async function html(c: Context<HttpEnv>, name: string) {
    const text = await textOf(name);
    if (text === undefined) return notBuilt(c);
    c.header('cache-control', 'no-cache');
    return c.html(withHead(text, `${c.get('base')}/`, isDemo));
  }
}

/** Browsers get the dashboard's 404 page. */
function isNavigation(c: Context<HttpEnv>, path: string): boolean {
  return (
    !/^\/(v1(\/|$)|assets\/)/.test(path) &&
    extname(path) === '' &&
    (c.req.header('accept')?.includes('text/html') ?? false)
  );
}

/** `syncline-demo`: the page offers the demo's actions. */
function withHead(text: string, base: string, isDemo: boolean): string {
  const tag = `<base href="${escapeHtml(base)}">${isDemo ? '<meta name="syncline-demo">' : ''}`;
  const existing = /<base\b[^>]*>/i;
  if (existing.test(text)) return text.replace(existing, () => tag);
  return text.replace(/<head\b[^>]*>/i, (head) => `${head}${tag}`);
}

function notBuilt(c: Context<HttpEnv>) {
  const detail = 'The dashboard has not been built.';
  const hint = "Run npm run build in Syncline's folder and restart. The API works without it.";
  if (c.req.header('accept')?.includes('text/html'))
    return c.html(page('Dashboard not built', [detail, hint]), 503);
  throw new Problem('UNAVAILABLE', detail, { hint });
}
