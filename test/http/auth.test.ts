import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { cookieOf, type Service, startService } from './service.ts';

const db = useDatabase();
beforeEach(() => db.sql('TRUNCATE api_keys, sessions'));
afterEach(() => {
  vi.restoreAllMocks();
});

const twoHoursMs = 2 * 3600 * 1000;
const dayMs = 24 * 3600 * 1000;

/** Shifts the wall clock and the monotonic clock of this process. */
function moveClocks({ wallMs, monotonicMs }: { wallMs: number; monotonicMs: number }): void {
  const wall = Date.now.bind(Date);
  const monotonic = performance.now.bind(performance);
  vi.spyOn(Date, 'now').mockImplementation(() => wall() + wallMs);
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + monotonicMs);
}

async function tenantKey({ syncline }: Service, tenantId = tenant): Promise<string> {
  return (await syncline.keys.create({ name: 'theirs', tenantId })).key;
}

async function signIn({ call, key }: Service, as = key): Promise<string> {
  return cookieOf(await call('/v1/session', { method: 'POST', key: undefined, json: { key: as } }));
}

describe('keys', () => {
  test('auth: a missing or wrong key gets 401', async () => {
    const { call, key } = await startService(db);
    for (const wrong of [undefined, 'syn_wrong', 'something', `${key}x`, `syn_${'x'.repeat(1000)}`]) {
      const { status, body, headers } = await call('/v1/connections', { key: wrong });
      expect([status, body['code']]).toEqual([401, 'UNAUTHENTICATED']);
      expect(headers.get('www-authenticate')).toContain('Bearer');
    }
    const basic = await call('/v1/me', { key: undefined, headers: { authorization: 'Basic YTpi' } });
    expect(basic.status).toBe(401);
    expect((await call('/v1/me')).body).toEqual({
      scope: 'operator',
      tenant_id: null,
      tenant_name: null,
      actor: 'key:tests',
      version: '1.2.3',
    });
  });

  test('auth: a revoked key stops working', async () => {
    const { call } = await startService(db);
    const made = await call('/v1/keys', { method: 'POST', json: { name: 'short-lived' } });
    expect(made.status).toBe(201);
    const { id, key } = made.body as unknown as { id: string; key: string };
    expect(key).toMatch(/^syn_/);
    expect((await call('/v1/me', { key })).status).toBe(200);
    expect((await call(`/v1/keys/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await call('/v1/me', { key })).status).toBe(401);
    const listed = (await call('/v1/keys')).body.items.find((item) => item['id'] === id);
    expect(listed).toMatchObject({ name: 'short-lived', scope: 'operator' });
    expect(listed?.['revoked_at']).not.toBeNull();
    expect(listed).not.toHaveProperty('key');
  });

  test('DB-6: a key revoked elsewhere stops working within 3 s, also if the clock steps back', async () => {
    const { call, syncline } = await startService(db);
    const { id, key } = await syncline.keys.create({ name: 'short-lived' });
    expect((await call('/v1/me', { key })).status).toBe(200);
    await db.engine().keys.revoke(id);
    moveClocks({ wallMs: -twoHoursMs, monotonicMs: 3001 });
    expect((await call('/v1/me', { key })).status).toBe(401);
  });

  test('DB-6: a lockout ends after a minute, also if the wall clock steps back', async () => {
    const { call } = await startService(db);
    const guess = async (i: number) => (await call('/v1/me', { key: `syn_guess${i}` })).status;
    for (let i = 0; i < 20; i++) expect(await guess(i)).toBe(401);
    expect(await guess(20)).toBe(429);
    moveClocks({ wallMs: -twoHoursMs, monotonicMs: 60_001 });
    expect(await guess(21)).toBe(401);
  });

  test('auth: a row lock on a key does not delay requests with it', async () => {
    const { call, syncline } = await startService(db);
    const { id, key } = await syncline.keys.create({ name: 'locked' });
    const session = await db.session();
    await session.query('BEGIN');
    await session.query('SELECT FROM syncline.api_keys WHERE id = $1 FOR UPDATE', [id]);
    expect((await call('/v1/me', { key })).status).toBe(200);
    expect((await syncline.keys.get(id)).lastUsedAt).toBeUndefined();
    await session.query('COMMIT');
    await syncline.access.authenticate(key);
    expect((await syncline.keys.get(id)).lastUsedAt).toBeInstanceOf(Date);
  });

  test('auth: a lookup that read a key before its revocation does not keep it valid', async () => {
    const { call, syncline } = await startService(db);
    const { id, key } = await syncline.keys.create({ name: 'short-lived' });
    expect((await call('/v1/me', { key })).status).toBe(200);
    moveClocks({ wallMs: 0, monotonicMs: 3001 });
    const { authenticate } = syncline.access;
    let [hasRead, release] = [false, () => {}];
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    syncline.access.authenticate = async (candidate) => {
      const identity = await authenticate(candidate);
      if (candidate !== key || hasRead) return identity;
      hasRead = true;
      await held;
      return identity;
    };
    const early = call('/v1/me', { key });
    await until('the row has been read', () => hasRead);
    expect((await call(`/v1/keys/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await call('/v1/me', { key })).status).toBe(401);
    release();
    await early;
    expect((await call('/v1/me', { key })).status).toBe(401);
  });

  test('auth: a key is looked up once for many requests', async () => {
    const { call, syncline } = await startService(db);
    let lookups = 0;
    const { authenticate } = syncline.access;
    syncline.access.authenticate = (key) => {
      lookups++;
      return authenticate(key);
    };
    await call('/v1/me');
    await Promise.all(Array.from({ length: 10 }, () => call('/v1/me')));
    expect(lookups).toBe(1);
  });

  test('auth: after 20 wrong keys an address gets 429, but known keys still work', async () => {
    const { call } = await startService(db);
    expect((await call('/v1/me')).status).toBe(200);
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await call('/v1/me', { key: `syn_guess${i}` })).status);
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
    expect(statuses.slice(20)).toEqual(Array(5).fill(429));
    const login = await call('/v1/session', { method: 'POST', key: undefined, json: { key: 'syn_guess' } });
    expect(login.body).toMatchObject({ status: 429, code: 'TOO_MANY' });
    expect(Number(login.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await call('/v1/me')).status).toBe(200);
  });
});

describe('tenants', () => {
  test('isolation: a tenant key reads and changes only its own tenant', async () => {
    const service = await startService(db);
    const { call, syncline } = service;
    const other = await syncline.tenants.create({ name: 'other' });
    const theirs = await syncline.connections.create({ tenantId: other.id, provider: 'github' });
    const job = await db.job(theirs.id, { tenant_id: other.id });
    const own = await db.connect();
    const key = await tenantKey(service);

    expect((await call('/v1/me', { key })).body).toMatchObject({
      scope: 'tenant',
      tenant_id: tenant,
      tenant_name: 'a tenant',
    });
    const listed = await call('/v1/connections?limit=100', { key });
    expect(listed.body.items.map(({ id }) => id)).toContain(own);
    expect(new Set(listed.body.items.map(({ tenant_id }) => tenant_id))).toEqual(new Set([tenant]));
    expect((await call(`/v1/connections?tenant_id=${other.id}`, { key })).body.items).toEqual([]);
    expect((await call(`/v1/jobs?tenant_id=${other.id}`, { key })).body.items).toEqual([]);
    expect((await call('/v1/tenants', { key })).body.items).toHaveLength(1);

    for (const [method, path, json] of [
      ['GET', `/v1/connections/${theirs.id}`],
      ['DELETE', `/v1/connections/${theirs.id}`],
      ['PATCH', `/v1/connections/${theirs.id}`, { interval_seconds: 300 }],
      ['POST', `/v1/connections/${theirs.id}/pause`],
      ['POST', `/v1/connections/${theirs.id}/trigger`],
      ['POST', `/v1/connections/${theirs.id}/cancel`],
      ['POST', `/v1/connections/${theirs.id}/rewind`, { cursor: null }],
      ['GET', `/v1/connections/${theirs.id}/why`],
      ['GET', `/v1/connections/${theirs.id}/schedule`],
      ['GET', `/v1/connections/${theirs.id}/cursors`],
      ['GET', `/v1/jobs/${job}`],
      ['POST', `/v1/jobs/${job}/cancel`],
      ['POST', `/v1/jobs/${job}/retry`],
      ['GET', `/v1/tenants/${other.id}`],
    ] as const) {
      const { status } = await call(path, { method, key, ...(json && { json }) });
      expect([method, path, status]).toEqual([method, path, 404]);
    }
    const foreign = { tenant_id: other.id, provider: 'github' };
    expect((await call('/v1/connections', { method: 'POST', key, json: foreign })).status).toBeOneOf([
      403, 404,
    ]);
    expect((await syncline.connections.list({ tenantId: other.id })).items).toHaveLength(1);
    const bulk = { action: 'pause', filter: { tenant_id: other.id } };
    expect((await call('/v1/connections/bulk', { method: 'POST', key, json: bulk })).body['changed']).toBe(0);
    expect((await syncline.connections.get(theirs.id)).status).toBe('active');
  });

  test('isolation: a tenant key cannot call operator endpoints', async () => {
    const service = await startService(db, { metrics: () => 'up 1\n' });
    const { call } = service;
    const key = await tenantKey(service);
    for (const [method, path, json] of [
      ['GET', '/v1/system'],
      ['GET', '/metrics'],
      ['POST', '/v1/tenants', { name: 'x' }],
      ['PUT', '/v1/providers/github', {}],
    ] as const) {
      const { status, body } = await call(path, { method, key, ...(json && { json }) });
      expect([path, status, body['code']]).toEqual([path, 403, 'FORBIDDEN']);
    }
    expect((await call('/metrics')).text).toBe('up 1\n');
    expect((await call('/metrics', { key: undefined })).status).toBe(401);
    const stats = await call('/v1/stats', { key });
    expect(stats.body).toMatchObject({ queue: null, executors: null });
  });

  test('isolation: a tenant key creates keys only for its own tenant', async () => {
    const service = await startService(db);
    const { call, syncline } = service;
    const other = await syncline.tenants.create({ name: 'another' });
    const key = await tenantKey(service);
    const made = await call('/v1/keys', { method: 'POST', key, json: { name: 'mine' } });
    expect(made.body).toMatchObject({ scope: 'tenant', tenant_id: tenant });
    const foreign = await call('/v1/keys', { method: 'POST', key, json: { name: 'x', tenant_id: other.id } });
    expect([403, 404]).toContain(foreign.status);
    const scopes = (await call('/v1/keys', { key })).body.items.map(({ tenant_id }) => tenant_id);
    expect(new Set(scopes)).toEqual(new Set([tenant]));
    const operators = (await call('/v1/keys')).body.items.find(({ scope }) => scope === 'operator');
    expect((await call(`/v1/keys/${operators?.['id']}`, { method: 'DELETE', key })).status).toBe(404);
  });
});

describe('sessions', () => {
  test('sessions: a session stands for a key in an HttpOnly cookie', async () => {
    const service = await startService(db);
    const { call, key } = service;
    const login = await call('/v1/session', { method: 'POST', key: undefined, json: { key } });
    expect(login.body).toMatchObject({ scope: 'operator', actor: 'key:tests' });
    const cookie = login.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^syncline_session=[\w-]{40,}; Path=\/; Expires=.*; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(key);

    const headers = { cookie: `syncline_session=${cookieOf(login)}` };
    expect((await call('/v1/me', { key: undefined, headers })).status).toBe(200);
    const out = await call('/v1/session', {
      method: 'DELETE',
      key: undefined,
      headers: { ...headers, 'x-syncline-request': '1' },
    });
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/^syncline_session=; Max-Age=0; Path=\//);
    expect((await call('/v1/me', { key: undefined, headers })).status).toBe(401);
    const wrong = await call('/v1/session', { method: 'POST', key: undefined, json: { key: 'syn_wrong' } });
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('set-cookie')).toBeNull();
  });

  test('sessions: a session ends when its key is revoked', async () => {
    const service = await startService(db);
    const { call, syncline } = service;
    const made = await syncline.keys.create({ name: 'brief' });
    const headers = { cookie: `syncline_session=${await signIn(service, made.key)}` };
    expect((await call('/v1/me', { key: undefined, headers })).status).toBe(200);
    await call(`/v1/keys/${made.id}`, { method: 'DELETE' });
    expect((await call('/v1/me', { key: undefined, headers })).status).toBe(401);
  });

  test('sessions: requests from another origin cannot change anything', async () => {
    const service = await startService(db);
    const { call, url } = service;
    const cookie = `syncline_session=${await signIn(service)}`;
    const post = (headers: Record<string, string>) =>
      call('/v1/tenants', {
        method: 'POST',
        key: undefined,
        json: { name: 'x' },
        headers: { cookie, ...headers },
      });
    expect((await post({})).body).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    const intent = { 'x-syncline-request': '1' };
    expect((await post({ ...intent, origin: 'https://evil.example' })).status).toBe(403);
    expect((await post({ ...intent, origin: 'null' })).status).toBe(403);
    expect((await post({ ...intent, origin: url })).status).toBe(201);
    expect((await post(intent)).status).toBe(201);
    const login = { method: 'POST', key: undefined, json: { key: service.key } };
    const foreign = await call('/v1/session', { ...login, headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
    // Browsers do not send keys automatically, so no origin check is needed.
    const withKey = { method: 'POST', json: { name: 'y' }, headers: { origin: 'https://other.example' } };
    expect((await call('/v1/tenants', withKey)).status).toBe(201);
  });
});

describe('one-time token', () => {
  test('login: the one-time token opens one session', async () => {
    const localLogin = createLocalLogin(systemPorts.monotonicMs);
    const { call } = await startService(db, { localLogin });
    const path = `/login?token=${localLogin.issue()}`;
    expect((await call('/login?token=wrong', { key: undefined })).status).toBe(401);
    expect((await call(path, { key: undefined, method: 'HEAD' })).status).toBe(303);
    const first = await call(path, { key: undefined });
    expect(first.status).toBe(303);
    expect(first.headers.get('location')).toBe('/');
    const headers = { cookie: `syncline_session=${cookieOf(first)}` };
    expect((await call('/v1/me', { key: undefined, headers })).body).toMatchObject({
      scope: 'operator',
      actor: 'local',
    });
    const again = await call(path, { key: undefined });
    expect(again.body).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    const page = await call(path, { key: undefined, headers: { accept: 'text/html' } });
    expect(page.status).toBe(401);
    expect(page.text).toContain('already used');
    // The link still works in the browser that used it.
    expect((await call(path, { key: undefined, headers })).status).toBe(303);
  });

  test('login: the one-time token expires after 15 minutes', () => {
    let now = 0;
    const localLogin = createLocalLogin(() => now);
    const [expired, valid] = [localLogin.issue(), localLogin.issue()];
    now = 15 * 60 * 1000;
    expect(localLogin.redeem(valid)).toBe(true);
    expect(localLogin.redeem(valid)).toBe(false);
    now++;
    expect(localLogin.redeem(expired)).toBe(false);
  });

  test('login: only the 20 newest one-time tokens are valid', () => {
    const localLogin = createLocalLogin(() => 0);
    const tokens = Array.from({ length: 21 }, () => localLogin.issue());
    expect(tokens.map((token) => localLogin.redeem(token))).toEqual([false, ...Array(20).fill(true)]);
  });

  test('login: the secret of the service issues one-time tokens, an operator key does not', async () => {
    const localLogin = createLocalLogin(systemPorts.monotonicMs);
    const { call } = await startService(db, { localLogin });
    const request = (key: string | undefined) => call('/login/tokens', { method: 'POST', key });
    const issued = await request(localLogin.secret);
    expect(issued).toMatchObject({ status: 201, body: { expires_in_seconds: 900 } });
    const path = `/login?token=${issued.body['token']}`;
    expect((await call(path, { key: undefined })).status).toBe(303);
    const operator = await call('/login/tokens', { method: 'POST' });
    expect(operator.body).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    expect((await request(undefined)).status).toBe(401);
    expect((await request(`${localLogin.secret}x`)).status).toBe(401);
    expect((await call('/v1/me', { key: localLogin.secret })).status).toBe(401);
  });
});

describe('health', () => {
  test('probes: a process is alive immediately, and ready once a scheduler has ticked', async () => {
    const { call, syncline } = await startService(db);
    expect((await call('/healthz', { key: undefined })).body).toEqual({ status: 'ok' });
    await syncline.start({ roles: ['scheduler'] });
    await until(
      'the service is ready',
      async () => (await call('/readyz', { key: undefined })).status === 200,
    );
    expect((await call('/readyz', { key: undefined })).body).toMatchObject({
      status: 'ok',
      checks: { database: true, schema: true, last_tick: { ok: true } },
    });
  });

  test('DB-6: with a clock a day ahead, a process is ready once a scheduler has ticked', async () => {
    await db.sql('TRUNCATE schedulers');
    const { call, syncline } = await startService(db);
    moveClocks({ wallMs: dayMs, monotonicMs: 0 });
    await syncline.start({ roles: ['scheduler'] });
    await until('a scheduler has ticked', async () => (await syncline.status()).lastTickAt !== undefined);
    const { status, body } = await call('/readyz', { key: undefined });
    expect([status, body['status']]).toEqual([200, 'ok']);
  });

  test('DB-6: with a clock a day behind, a process is not ready if no scheduler ticks', async () => {
    await db.sql('TRUNCATE schedulers');
    await db.sql(
      `INSERT INTO schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds)
       VALUES (gen_random_uuid(), 'h', 1, now(), now() - interval '50 minutes', 1, 0, 0)`,
    );
    const { call } = await startService(db);
    moveClocks({ wallMs: -dayMs, monotonicMs: 0 });
    const { status, body } = await call('/readyz', { key: undefined });
    expect([status, body['checks']]).toEqual([
      503,
      expect.objectContaining({
        database: true,
        schema: true,
        last_tick: expect.objectContaining({ ok: false }),
      }),
    ]);
  });

  test('probes: a process is ready between runs of cron, and not after one tick by hand', async () => {
    await db.sql('TRUNCATE schedulers');
    const { call, syncline } = await startService(db);
    const ready = async () => (await call('/readyz', { key: undefined })).status;
    await syncline.tick();
    const age = async (minutes: number) =>
      db.sql(
        `UPDATE schedulers SET started_at = now() - make_interval(mins => $1),
         ticked_at = now() - interval '20 minutes'`,
        [minutes],
      );
    await age(20);
    expect(await ready()).toBe(503);
    await age(50);
    await until('the cached result has expired', async () => (await ready()) === 200);
  });

  test('probes: without its database a process is alive but not ready', async () => {
    const service = await startService(db);
    await service.syncline.stop();
    expect((await service.call('/healthz')).status).toBe(200);
    const { status, body } = await service.call('/readyz', { key: undefined });
    expect(status).toBe(503);
    expect(body).toMatchObject({
      status: 'unavailable',
      checks: { database: false, last_tick: { ok: false } },
    });
  });
});
