import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
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
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

const clientRoutes = /^\/((connections|jobs)(\/[^/]+)?|signals|system|audit|keys)?\/?$/;
/** With a content hash: cached forever. */
const hashedName = /^assets\/.+-[\w-]{8,}\.\w+$/;

export function dashboardRoutes(app: App, folder: string, { isDemo }: { isDemo: boolean }): void {
  const files = fileList(folder);

  app.get('/docs', (c) => html(c, 'docs.html'));
  app.get('*', async (c, next) => {
    const path = c.get('path');
    const name = path.slice(1);
    if ((await files()).has(name)) return name.endsWith('.html') ? html(c, name) : file(c, name);
    if (clientRoutes.test(path) || isNavigation(c, path)) return html(c, 'index.html');
    return next();
  });

  async function file(c: Context<HttpEnv>, name: string) {
    const type = contentTypes[extname(name).toLowerCase()] ?? 'application/octet-stream';
    const cacheControl = hashedName.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache';
    const content = await readFile(join(folder, name));
    return c.body(new Uint8Array(content), 200, { 'content-type': type, 'cache-control': cacheControl });
  }

  async function html(c: Context<HttpEnv>, name: string) {
    if (!(await files()).has(name)) return notBuilt(c);
    const text = await readFile(join(folder, name), 'utf8');
    c.header('cache-control', 'no-cache');
    return c.html(withHead(text, `${c.get('base')}/`, isDemo));
  }
}

/** Only listed files: no path traversal. Empty lists are not cached: a build may follow. */
function fileList(folder: string): () => Promise<ReadonlySet<string>> {
  let known: ReadonlySet<string> = new Set();
  return async () => {
    if (known.size === 0) {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
      const names = entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
      known = new Set(names);
    }
    return known;
  };
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
  const hint = "Run npm run build in Syncline's folder and reload this page. The API works without it.";
  if (c.req.header('accept')?.includes('text/html'))
    return c.html(page('Dashboard not built', [detail, hint]), 503);
  throw new Problem('UNAVAILABLE', detail, { hint });
}
