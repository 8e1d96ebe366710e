import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
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

export type DashboardFiles = Readonly<Record<string, string>>;

/** 180 kB. */
export const loadDashboard = async (): Promise<DashboardFiles> =>
  (await import('./dashboard.inline.ts')).files;

const clientRoutes = /^\/((connections|jobs)(\/[^/]+)?|signals|system|audit|keys)?\/?$/;
/** Content hash: cached forever. */
const hashedName = /^assets\/.+-[\w-]{8,}\.\w+$/;
/** Smaller files fit one packet. */
const minCompressedLength = 1024;
const compress = promisify(gzip);

export function dashboardRoutes(
  app: App,
  load: () => Promise<DashboardFiles>,
  { isDemo }: { isDemo: boolean },
): void {
  const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
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

  async function file(c: Context<HttpEnv>, name: string, text: string) {
    const isCompressible = text.length >= minCompressedLength;
    const isCompressed = isCompressible && acceptsGzip(c);
    const bytes = isCompressed ? await gzipOf(name, text) : new TextEncoder().encode(text);
    return c.body(bytes, 200, {
      'content-type': contentTypes[extname(name).toLowerCase()] ?? 'application/octet-stream',
      'cache-control': hashedName.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      'content-length': String(bytes.length),
      ...(isCompressible && { vary: 'Accept-Encoding' }),
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    });
  }

  function gzipOf(name: string, text: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = compressed.get(name) ?? compress(text).then((buffer) => new Uint8Array(buffer));
    compressed.set(name, bytes);
    return bytes;
  }

  async function html(c: Context<HttpEnv>, name: string) {
    const text = await textOf(name);
    if (text === undefined) return notBuilt(c);
    c.header('cache-control', 'no-cache');
    return c.html(withHead(text, `${c.get('base')}/`, isDemo));
  }
}

function acceptsGzip(c: Context<HttpEnv>): boolean {
  const supports = ['gzip', 'identity'];
  return accepts(c, { header: 'Accept-Encoding', supports, default: 'identity' }) === 'gzip';
}

/** Browsers get the dashboard's 404 page. */
function isNavigation(c: Context<HttpEnv>, path: string): boolean {
  return (
    !/^\/(v1(\/|$)|assets\/)/.test(path) &&
    extname(path) === '' &&
    (c.req.header('accept')?.includes('text/html') ?? false)
  );
}

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
