import { describe, expect, test, vi } from 'vitest';
import { SynclineError } from '../../src/contract/errors.ts';
import { hostRule } from '../../src/http/hosts.ts';
import { toProblem } from '../../src/http/problem.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { raw, startService } from './service.ts';

const db = useDatabase();
const unknownId = '00000000-0000-4000-8000-00000000dead';

describe('problems', () => {
  test('problems: name every invalid field, its value and a suggestion', async () => {
    const { call } = await startService(db);
    const typo = await call('/v1/connections?limt=3&status=actve');
    expect(typo.status).toBe(400);
    expect(typo.headers.get('content-type')).toBe('application/problem+json');
    expect(typo.body).toMatchObject({
      code: 'INVALID_ARGUMENT',
      status: 400,
      errors: [
        { field: 'status', value: 'actve', message: 'must be one of active, paused, needs_auth, disabled' },
        { field: 'limt', message: 'is unknown. Did you mean limit?' },
      ],
    });

    const body = await call('/v1/tenants', { method: 'POST', json: { nmae: 'x' } });
    expect(body.body['errors']).toEqual([
      { field: 'name', message: 'is missing' },
      { field: 'nmae', message: 'is unknown. Did you mean name?' },
    ]);
  });

  test.each([
    ['/v1/connections?limit=0', 'limit'],
    ['/v1/connections?limit=101', 'limit'],
    ['/v1/connections?limit=1e1', 'limit'],
    ['/v1/connections?limit=5&limit=6', 'limit'],
    ['/v1/connections?tenant_id=1', 'tenant_id'],
    ['/v1/jobs?since=yesterday', 'since'],
    ['/v1/signals?payload=yes', 'payload'],
    ['/v1/signals/feed?wait=31', 'wait'],
    ['/v1/connections/abc', 'id'],
  ])('problems: %s is rejected and names %s', async (path, field) => {
    const { call } = await startService(db);
    const { status, body } = await call(path);
    expect(status).toBe(400);
    expect(body['errors']).toMatchObject([{ field }]);
  });

  test('problems: an invalid cursor returns 400 for every list', async () => {
    const { call } = await startService(db);
    for (const list of [
      'connections',
      'jobs',
      'signals',
      'audit',
      'budgets',
      'keys',
      'tenants',
      'consumers',
      'providers',
    ]) {
      const { status, body } = await call(`/v1/${list}?cursor=nonsense`);
      expect([list, status, body['code']]).toEqual([list, 400, 'INVALID_ARGUMENT']);
    }
    expect((await call('/v1/signals/feed?after=nonsense')).status).toBe(400);
    expect((await call('/v1/live?after=nonsense')).status).toBe(400);
  });

  test('problems: long values are truncated and secrets are not repeated', async () => {
    const { call } = await startService(db);
    const long = await call(`/v1/connections?tenant_id=${'x'.repeat(500)}`);
    const [error] = long.body['errors'] as { value: string }[];
    expect(error?.value).toHaveLength(80);
    const secret = await call('/v1/session', { method: 'POST', json: { key: 12_345_678 } });
    expect(secret.status).toBe(400);
    expect(secret.text).not.toContain('12345678');
  });

  test('problems: errors of the engine keep their message and hint', async () => {
    const { call } = await startService(db);
    const missing = await call(`/v1/connections/${unknownId}`);
    expect(missing.body).toMatchObject({ status: 404, code: 'NOT_FOUND', title: 'Not found' });
    expect(missing.body['detail']).toContain(unknownId);

    const id = await db.connect({ status: 'paused' });
    const conflict = await call(`/v1/connections/${id}/trigger`, { method: 'POST' });
    expect(conflict.body).toMatchObject({ status: 409, code: 'CONFLICT', hint: 'Resume it first.' });
  });

  test('problems: an argument that the engine rejects is named as in the request, with its value', async () => {
    const { call } = await startService(db);
    const id = await db.connect();
    const long = await call(`/v1/connections/${id}`, { method: 'PATCH', json: { interval_seconds: 86_401 } });
    expect(long.body).toMatchObject({
      status: 400,
      code: 'INVALID_ARGUMENT',
      detail: 'interval_seconds must be a whole number of seconds from 60 to 86400, got 86401.',
      errors: [{ field: 'interval_seconds', value: '86401' }],
    });
    const cursor = await call('/v1/jobs?cursor=nonsense');
    expect(cursor.body['errors']).toEqual([
      { field: 'cursor', value: '"nonsense"', message: 'must be a cursor of this list' },
    ]);
  });

  test('problems: an overloaded engine returns 503 with Retry-After and does not blame the database', () => {
    const warn = vi.fn();
    const error = new SynclineError('OVERLOADED', 'No connection to db.internal was free.');
    const problem = toProblem(error, { warn } as never);
    expect(problem.toBody()).toMatchObject({
      status: 503,
      code: 'OVERLOADED',
      detail: 'The service is overloaded.',
    });
    expect(problem.toResponse().headers.get('retry-after')).toBe('5');
    expect(JSON.stringify(problem.toBody())).not.toMatch(/database|db\.internal/);
    expect(warn).toHaveBeenCalledWith('request failed: No connection to db.internal was free.');
  });

  test('problems: an unknown provider returns 404', async () => {
    const { call } = await startService(db);
    const json = { tenant_id: tenant, provider: 'nowhere' };
    expect((await call('/v1/connections', { method: 'POST', json })).body).toMatchObject({
      status: 404,
      code: 'PROVIDER_NOT_FOUND',
      detail: 'There is no provider "nowhere".',
    });
  });

  test('problems: an unknown route returns 404, a wrong method 405 with Allow', async () => {
    const { call } = await startService(db);
    expect((await call('/v1/nothing')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const wrong = await call('/v1/connections', { method: 'DELETE' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('POST, GET, HEAD'.split(', ').sort().join(', '));
  });

  test('problems: an unexpected error is logged, and the response has only its id', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = {
      error: (line: Record<string, unknown>) => lines.push(line),
      warn: () => {},
      debug: () => {},
    };
    const { call, syncline } = await startService(db, { log: log as never });
    await db.sql('ALTER TABLE tenants RENAME TO tenants_away');
    try {
      const { body, text } = await call('/v1/tenants');
      expect(body).toMatchObject({ status: 500, code: 'INTERNAL' });
      expect(text).not.toContain('tenants_away');
      expect(text).not.toContain('relation');
      const id = lines[0]?.['errorId'] as string;
      expect(body['detail']).toContain(id);
      expect(body['instance']).toBe(`urn:uuid:${id}`);
    } finally {
      await db.sql('ALTER TABLE tenants_away RENAME TO tenants');
    }
    await syncline.stop();
  });
});

test('problems: an unreachable database returns 503 without its address', async () => {
  const { call, syncline } = await startService(db);
  expect((await call('/v1/me')).status).toBe(200);
  await syncline.stop();
  const { headers, body, text } = await call('/v1/connections');
  expect(body).toMatchObject({ status: 503, code: 'DATABASE_UNREACHABLE' });
  expect(headers.get('retry-after')).toBe('5');
  expect(text).not.toContain(new URL(db.url).hostname);
  expect(text).not.toContain('SYNCLINE_DATABASE_URL');
});

test.each([
  ['is read-only', '25006'],
  ['is out of disk space', '53100'],
  ['reports a lock timeout', '55P03'],
  ['cancels a statement', '57014'],
  ['detects a deadlock', '40P01'],
])('problems: a database that %s returns 503 with Retry-After', async (_, code) => {
  const { call, syncline } = await startService(db);
  const { id } = await syncline.tenants.create({ name: 'whose key is kept' });
  const name = `refuse_${code.toLowerCase()}`;
  await db.sql(
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '${code}'; END $$;
     CREATE TRIGGER ${name} BEFORE INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  );
  try {
    const { headers, body, text } = await call('/v1/tenants', { method: 'POST', json: { name: 'late' } });
    expect(body).toMatchObject({ status: 503, code: 'DATABASE_REFUSED' });
    expect(headers.get('retry-after')).toBe('5');
    expect(text).not.toContain('not now');
    await expect(syncline.tenants.create({ name: 'later' })).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      message: expect.stringContaining('temporarily rejected the statement: not now'),
      hint: expect.stringContaining('Retry'),
    });
    expect((await call(`/v1/tenants/${id}`)).status).toBe(200);
  } finally {
    await db.sql(`DROP TRIGGER ${name} ON tenants; DROP FUNCTION ${name}`);
  }
});

describe('bodies', () => {
  const post = (json: unknown) => ({ method: 'POST', json });

  test('bodies: invalid JSON, another content type and invalid UTF-8 are rejected', async () => {
    const { call } = await startService(db);
    const send = (body: string | Uint8Array, type?: string) =>
      call('/v1/tenants', { method: 'POST', body, headers: type ? { 'content-type': type } : {} });
    expect((await send('{"name":', 'application/json')).body).toMatchObject({
      status: 400,
      detail: 'The body is not valid JSON.',
    });
    expect((await send('name=x', 'application/x-www-form-urlencoded')).status).toBe(415);
    expect((await send(new Uint8Array([0x7b, 0x7d]))).status).toBe(415);
    const latin1 = new Uint8Array([...Buffer.from('{"name":"'), 0xe9, ...Buffer.from('"}')]);
    expect((await send(latin1, 'application/json')).body['detail']).toBe('The body is not valid UTF-8.');
    expect((await send('[]', 'application/json')).status).toBe(400);
    expect((await send('null', 'application/json')).status).toBe(400);
  });

  test('bodies: text that Postgres cannot store is rejected at any depth', async () => {
    const { call } = await startService(db);
    const connection = { tenant_id: tenant, provider: 'github' };
    for (const [json, field] of [
      [{ name: 'a\0b' }, 'name'],
      [{ name: 'a\ud800b' }, 'name'],
    ] as const)
      expect((await call('/v1/tenants', post(json))).body).toMatchObject({
        status: 400,
        errors: [{ field }],
      });
    const inConfig = await call('/v1/connections', post({ ...connection, config: { deep: [{ er: '\0' }] } }));
    expect(inConfig.body).toMatchObject({ status: 400, errors: [{ field: 'config.deep[0].er' }] });
    const key = await call('/v1/connections', post({ ...connection, config: { 'a\0': 1 } }));
    expect(key.status).toBe(400);
    const nested = `{"tenant_id":"${tenant}","provider":"github","config":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_001)}`;
    const deep = await call('/v1/connections', {
      method: 'POST',
      body: nested,
      headers: { 'content-type': 'application/json' },
    });
    expect(deep.status).toBe(400);
    expect(deep.body['detail']).toContain('nested deeper than 100 levels');
  });

  test('bodies: a body without required fields may be absent', async () => {
    const { call } = await startService(db);
    const id = await db.connect();
    expect((await call(`/v1/connections/${id}/pause`, { method: 'POST' })).status).toBe(200);
    const empty = { method: 'POST', headers: { 'content-type': 'application/json' } };
    expect((await call(`/v1/connections/${id}/resume`, empty)).status).toBe(200);
    expect((await call('/v1/tenants', empty)).body['errors']).toEqual([
      { field: 'name', message: 'is missing' },
    ]);
  });
});

describe('limits', () => {
  test('limits: oversized bodies, URLs and headers are rejected', async () => {
    const { call, url } = await startService(db);
    const large = 'x'.repeat(1024 * 1024 + 1);
    const announced = await call('/v1/tenants', { method: 'POST', json: { name: large } });
    expect(announced.body).toMatchObject({ status: 413, code: 'TOO_LARGE' });
    expect((await call(`/v1/tenants?search=${'x'.repeat(8192)}`)).body).toMatchObject({
      status: 414,
      code: 'TOO_LARGE',
    });
    const headers = await raw(
      url,
      `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`,
    );
    expect(headers).toMatch(/^HTTP\/1.1 431/);
    expect(headers).toContain('"code":"TOO_LARGE"');
    const many = await call(`/v1/tenants?${Array.from({ length: 60 }, (_, i) => `a${i}=1`).join('&')}`);
    expect(many.status).toBe(400);
  });

  test('limits: a chunked body is counted as it arrives', async () => {
    const { url, key } = await startService(db, { limits: { bodyBytes: 1000 } });
    const chunk = `200\r\n${'x'.repeat(512)}\r\n`;
    const head = `POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    expect(await raw(url, `${head}${chunk.repeat(4)}0\r\n\r\n`)).toMatch(/^HTTP\/1.1 413/);
  });

  test.each([
    '/v1/tenants?search=%ff',
    '/v1/tenants?search=%',
    '/v1/consumers/%E0%A4%A',
    '/v1/tenants?search=%00',
  ])('limits: the malformed URL %s returns 400', async (path) => {
    const { url, key } = await startService(db);
    const answer = await raw(
      url,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 400/);
    expect(answer).toContain('application/problem+json');
  });

  test.each([
    'GET\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET \\ HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n',
  ])('limits: malformed HTTP returns 400: %j', async (request) => {
    const { url } = await startService(db);
    expect(await raw(url, request)).toMatch(/^HTTP\/1.1 400/);
  });

  test('limits: concurrent requests and long polls have separate limits', async () => {
    const { call } = await startService(db, { limits: { requests: 1, streams: 2 } });
    const waiting = call('/v1/signals/feed?after=latest&wait=30');
    let second = await call('/v1/signals/feed?after=latest');
    await until('the first request waits', async () => {
      second = await call('/v1/signals/feed?after=latest');
      return second.status !== 200;
    });
    expect(second.body).toMatchObject({ status: 429, code: 'TOO_MANY' });
    expect(second.headers.get('retry-after')).toBe('2');
    expect((await call('/v1/me')).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('/v1/stats')));
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 503]);
    expect(answers.find(({ status }) => status === 503)?.body['code']).toBe('TOO_MANY');
    await db.sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload) VALUES ($1, 'github', $2, 'any', now(), '{}')`,
      [tenant, await db.connect()],
    );
    expect((await waiting).status).toBe(200);
    expect((await call('/v1/signals/feed?after=latest')).status).toBe(200);
  });
});

describe('hosts', () => {
  const ask = (url: string, host: string) =>
    raw(url, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);

  test('hosts: only configured and loopback names are accepted, which prevents DNS rebinding', async () => {
    const { url } = await startService(db, { hosts: hostRule('127.0.0.1', ['sync.example.com']) });
    for (const host of [
      'localhost',
      'LOCALHOST:1234',
      '127.0.0.1:80',
      '[::1]:80',
      'x.localhost',
      'sync.example.com:443',
    ])
      expect(await ask(url, host)).toMatch(/^HTTP\/1.1 200/);
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '192.168.0.1',
      'sync.example.com.evil',
      '127.0.0.1.nip.io',
    ]) {
      const answer = await ask(url, host);
      expect(answer).toMatch(/^HTTP\/1.1 403/);
      expect(answer).toContain('"code":"FORBIDDEN"');
    }
  });

  test('hosts: with 0.0.0.0, IP addresses are accepted and names must be configured', async () => {
    const { url } = await startService(db, { hosts: hostRule('0.0.0.0') });
    expect(await ask(url, '10.1.2.3:8080')).toMatch(/^HTTP\/1.1 200/);
    expect(await ask(url, 'sync.example.com')).toMatch(/^HTTP\/1.1 403/);
    expect(hostRule('0.0.0.0', ['*'])).toBeUndefined();
  });

  test('hosts: every response has the security headers, including errors', async () => {
    const { call } = await startService(db);
    for (const path of ['/v1/me', '/v1/nothing', '/healthz', '/openapi.json']) {
      const { headers } = await call(path);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});
