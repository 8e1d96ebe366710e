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

/** What the dashboard routes by itself. Another path is a page only for a browser that asks for one. */
const clientRoutes = /^\/((connections|jobs)(\/[^/]+)?|signals|system|audit|keys)?\/?$/;
/** Vite puts a digest of the content into these names, so that what they hold never changes. */
const hashedName = /^assets\/.+-[\w-]{8,}\.\w+$/;

/** Serves the built dashboard: files by their names, and its one page for every route of its own. */
export function dashboardRoutes(app: App, folder: string): void {
  const files = fileList(folder);

  app.get('/docs', (c) => html(c, 'docs.html'));
  app.get('*', async (c, next) => {
    const path = c.get('path');
    const name = path.slice(1);
    if ((await files()).has(name)) return name.endsWith('.html') ? html(c, name) : file(c, name);
    if (clientRoutes.test(path) || isVisit(c, path)) return html(c, 'index.html');
    return next();
  });

  async function file(c: Context<HttpEnv>, name: string) {
    const type = contentTypes[extname(name).toLowerCase()] ?? 'application/octet-stream';
    const lifetime = hashedName.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache';
    const content = await readFile(join(folder, name));
    return c.body(new Uint8Array(content), 200, { 'content-type': type, 'cache-control': lifetime });
  }

  async function html(c: Context<HttpEnv>, name: string) {
    if (!(await files()).has(name)) return notBuilt(c);
    const text = await readFile(join(folder, name), 'utf8');
    c.header('cache-control', 'no-cache');
    return c.html(withBase(text, `${c.get('base')}/`));
  }
}

/**
 * The names of the files in the folder. Only what is listed here is ever read, so that no path, however it is written,
 * leads out of the folder. Listed once; again while there is nothing, because it may be built meanwhile.
 */
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

/** A person went there: an unknown page of the dashboard says so better than a problem document. */
function isVisit(c: Context<HttpEnv>, path: string): boolean {
  return (
    !/^\/(v1(\/|$)|assets\/)/.test(path) &&
    extname(path) === '' &&
    (c.req.header('accept')?.includes('text/html') ?? false)
  );
}

function withBase(text: string, base: string): string {
  const tag = `<base href="${escapeHtml(base)}">`;
  const existing = /<base\b[^>]*>/i;
  if (existing.test(text)) return text.replace(existing, () => tag);
  return text.replace(/<head\b[^>]*>/i, (head) => `${head}${tag}`);
}

function notBuilt(c: Context<HttpEnv>) {
  const detail = 'The dashboard has not been built.';
  const hint = 'Run npm run build in the folder of Syncline, and reload this page. The API works without it.';
  if (c.req.header('accept')?.includes('text/html'))
    return c.html(page('No dashboard here yet', [detail, hint]), 503);
  throw new Problem('UNAVAILABLE', detail, { hint });
}
