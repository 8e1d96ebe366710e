import { describe, expect, it } from 'vitest';
import { cookieOf, raw, startService } from '../http/service.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

const expected = {
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'content-security-policy':
    /default-src 'self'.*frame-ancestors 'none'.*base-uri 'self'.*form-action 'self'/,
};

function headersOf(answer: string): Headers {
  const [head = ''] = answer.split('\r\n\r\n');
  const lines = head.split('\r\n').slice(1);
  return new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

function expectSafe(what: string, headers: Headers): void {
  for (const [name, pattern] of Object.entries(expected))
    expect([what, name, headers.get(name) ?? '']).toEqual([what, name, expect.stringMatching(pattern)]);
  // No CORS: pages of other origins cannot read responses.
  expect([what, headers.get('access-control-allow-origin')]).toEqual([what, null]);
}

describe('headers: security headers on every response', () => {
  it('headers: all responses of the app have them, including pages and errors', async () => {
    const { call, url } = await startService(database, { metrics: () => 'up 1\n' });
    for (const [path, request] of [
      ['/v1/me', {}],
      ['/v1/me', { key: undefined }],
      ['/v1/nothing', {}],
      ['/v1/me', { method: 'POST' }],
      ['/v1/tenants', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
      ['/v1/me', { headers: { origin: 'https://evil.example' } }],
      [
        '/v1/connections',
        {
          method: 'OPTIONS',
          headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
        },
      ],
      ['/healthz', { key: undefined }],
      ['/openapi.json', {}],
      ['/metrics', {}],
      [`/${'x'.repeat(9000)}`, {}],
      ['/v1/webhooks/github/unknown', { method: 'POST', key: undefined, body: '{}' }],
      ['/v1/connections/consent?link=x', { key: undefined, headers: { accept: 'text/html' } }],
      ['/v1/connections/consent', { method: 'POST', key: undefined, headers: { accept: 'text/html' } }],
      ['/v1/connections/callback?state=x', { key: undefined, headers: { accept: 'text/html' } }],
    ] as const) {
      const { headers } = await call(path, request);
      expectSafe(path.slice(0, 40), headers);
      expect([path.slice(0, 40), headers.get('cache-control')]).toEqual([path.slice(0, 40), 'no-store']);
    }
    expectSafe(
      'an invalid host',
      headersOf(await raw(url, 'GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n')),
    );
  });

  it('headers: responses sent before the app runs have them too', async () => {
    const { url } = await startService(database);
    for (const [what, request] of [
      ['no host', 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n'],
      ['not HTTP', 'NONSENSE\r\n\r\n'],
      ['too many headers', `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(20_000)}\r\n\r\n`],
    ] as const) {
      const headers = headersOf(await raw(url, request));
      expectSafe(what, headers);
      expect([what, headers.get('cache-control')]).toEqual([what, 'no-store']);
    }
  });

  it('headers: a session cookie over TLS is Secure and is not accepted as a key', async () => {
    const { call, key } = await startService(database);
    const login = { method: 'POST', key: undefined, json: { key } };
    const secured = await call('/v1/session', { ...login, headers: { 'x-forwarded-proto': 'https' } });
    expect(secured.headers.get('set-cookie')).toMatch(/; HttpOnly; Secure; SameSite=Strict$/);
    const token = cookieOf(secured);
    expect((await call('/v1/me', { key: token })).status).toBe(401);
    expect((await call('/v1/me', { key: `syn_${token}` })).status).toBe(401);
    const asCookie = { cookie: `syncline_session=${key}` };
    expect((await call('/v1/me', { key: undefined, headers: asCookie })).status).toBe(401);
  });

  it('headers: a session cannot write without the x-syncline-request header', async () => {
    const { call, key } = await startService(database);
    const cookie = `syncline_session=${cookieOf(await call('/v1/session', { method: 'POST', key: undefined, json: { key } }))}`;
    for (const [method, path] of [
      ['POST', '/v1/tenants'],
      ['PUT', '/v1/providers/x'],
      ['PATCH', '/v1/connections/00000000-0000-4000-8000-000000000009'],
      ['DELETE', '/v1/keys/00000000-0000-4000-8000-000000000009'],
      ['DELETE', '/v1/session'],
    ] as const) {
      // Like a form post from another site.
      const plain = { method, key: undefined, headers: { cookie, 'content-type': 'text/plain' }, body: '{}' };
      expect([path, (await call(path, plain)).status]).toEqual([path, 403]);
    }
    expect((await call('/v1/me', { key: undefined, headers: { cookie } })).status).toBe(200);
  });
});
