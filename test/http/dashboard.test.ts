import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { raw, startService } from './service.ts';

const db = useDatabase();
const script = `export const text = '${'ä'.repeat(5000)}';`;
const dashboard = async () => ({
  'index.html': '<!doctype html><html><head><base href="/"><title>D</title></head></html>',
  'docs.html': '<!doctype html><html><head lang="en"><title>Docs</title></head></html>',
  'assets/index-Ab12_-Cd.js': 'export {};',
  'assets/index-Ab12_-Cd.css': 'a{}',
  'assets/large-Ab12_-Cd.js': script,
  'favicon.svg': '<svg/>',
});
const browser = { accept: 'text/html,application/xhtml+xml' };

test('dashboard: serves the page for each route and files by name', async () => {
  const { call } = await startService(db, { dashboard });
  const id = '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f';
  for (const path of [
    '/',
    '/connections',
    `/connections/${id}`,
    '/jobs',
    `/jobs/${id}`,
    '/signals',
    '/system',
    '/audit',
    '/keys',
  ]) {
    const { status, headers, text } = await call(path, { key: undefined });
    expect([path, status, headers.get('content-type')?.toLowerCase()]).toEqual([
      path,
      200,
      'text/html; charset=utf-8',
    ]);
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(text).toContain('<base href="/">');
  }
  const script = await call('/assets/index-Ab12_-Cd.js', { key: undefined });
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect((await call('/assets/index-Ab12_-Cd.css')).headers.get('content-type')).toContain('text/css');
  const icon = await call('/favicon.svg');
  expect(icon.headers.get('content-type')).toBe('image/svg+xml');
  expect(icon.headers.get('cache-control')).toBe('no-cache');
  expect((await call('/docs')).text).toContain('<head lang="en"><base href="/"><title>Docs');
  expect((await call('/index.html')).text).toBe((await call('/')).text);
});

/** Sends only the given headers and keeps the body as it was sent. */
async function exchange(url: string, headers: Record<string, string>, method = 'GET') {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method, headers }, resolve).on('error', reject).end();
  });
  const { vary, 'content-encoding': encoding, 'content-length': length } = response.headers;
  return { status: response.statusCode, vary, encoding, length, bytes: await buffer(response) };
}

test('dashboard: compresses files for clients that accept gzip', async () => {
  const { url, key } = await startService(db, { dashboard });
  const file = `${url}/assets/large-Ab12_-Cd.js`;
  const vary = 'Accept-Encoding';
  for (const accepted of ['gzip, deflate, br, zstd', 'GZIP', 'br;q=1.0, gzip;q=0.8, *;q=0.1']) {
    const { bytes, ...rest } = await exchange(file, { 'accept-encoding': accepted });
    expect(rest).toEqual({ status: 200, vary, encoding: 'gzip', length: String(bytes.length) });
    expect(bytes.length).toBeLessThan(1000);
    expect(gunzipSync(bytes).toString()).toBe(script);
    const head = await exchange(file, { 'accept-encoding': accepted }, 'HEAD');
    expect(head).toEqual({ ...rest, bytes: Buffer.alloc(0) });
  }
  for (const headers of [{}, { 'accept-encoding': 'gzip;q=0, br' }, { 'accept-encoding': 'identity' }])
    expect(await exchange(file, headers)).toEqual({
      ...{ status: 200, vary, encoding: undefined, bytes: Buffer.from(script) },
      length: String(Buffer.byteLength(script)),
    });
  const headers = { 'accept-encoding': 'gzip', authorization: `Bearer ${key}` };
  for (const path of ['/', '/favicon.svg', '/openapi.json', '/v1/me'])
    expect(await exchange(`${url}${path}`, headers)).toMatchObject({
      ...{ status: 200, vary: undefined, encoding: undefined },
    });
});

test('dashboard: an unknown path returns the page to browsers and a problem to API clients', async () => {
  const { call } = await startService(db, { dashboard });
  expect((await call('/nowhere', { headers: browser })).text).toContain('<title>D</title>');
  for (const path of ['/nowhere', '/assets/gone-12345678.js', '/v1/nowhere'])
    expect((await call(path)).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect((await call('/v1/nowhere', { headers: browser })).status).toBe(404);
  expect((await call('/assets/gone-12345678.js', { headers: browser })).status).toBe(404);
  expect((await call('/connections', { method: 'POST', key: undefined })).status).toBe(404);
});

test.each([
  '/../secret.txt',
  '/..%2fsecret.txt',
  '/%2e%2e/secret.txt',
  '/assets/..%2f..%2fsecret.txt',
  '/assets/..%5c..%5csecret.txt',
  '/..\\secret.txt',
  '//secret.txt',
  '/assets/%252e%252e/secret.txt',
  '/package.json',
  '/constructor',
  '/__proto__',
])('dashboard: serves only its own files: %s', async (path) => {
  const { url } = await startService(db, { dashboard });
  const answer = await raw(url, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 (400|404)/);
});

test('dashboard: returns 503 if it was not built, and the API still works', async () => {
  const { call } = await startService(db, { dashboard: async () => ({}) });
  const page = await call('/', { headers: browser });
  expect(page.status).toBe(503);
  expect(page.text).toContain('npm run build');
  expect((await call('/')).body).toMatchObject({ code: 'UNAVAILABLE' });
  expect((await call('/v1/me')).status).toBe(200);
});
