import { connect as connectTo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { type Answer, raw, type Service, startService } from './service.ts';

const database = useDatabase();
const { sql } = database;

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
beforeEach(() => database.empty());

/** Starts a request whose body never completes; resolves after its head and first byte are written. */
async function slowBody(url: string, headers: Record<string, string> = {}, path = '/v1/session') {
  const { hostname, port } = new URL(url);
  const allHeaders = {
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': '100',
    ...headers,
  };
  const lines = Object.entries(allHeaders);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const socket = connectTo(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n{`, resolve));
  return socket;
}

/** Signs in with a wrong key: 401 if the body is read, otherwise 429 or 503. */
const signIn = ({ call }: Service, headers: Record<string, string> = {}) =>
  call('/v1/session', { method: 'POST', key: undefined, json: { key: 'syn_wrong' }, headers });

/** Locks a table until the returned function is called or the test ends. */
async function lock(table: string) {
  const session = await database.session();
  await session.query(`BEGIN; LOCK TABLE syncline.${table} IN ACCESS EXCLUSIVE MODE`);
  return () => session.query('ROLLBACK');
}

/** Number of statements that wait for a lock. */
async function blocked(): Promise<number> {
  const [row] = await sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row?.n ?? 0;
}

/** Sends requests in parallel and collects the responses. */
function send(count: number, request: () => Promise<Answer>) {
  const answers: Answer[] = [];
  const all = Array.from({ length: count }, () =>
    request().then(
      (answer) => void answers.push(answer),
      () => {},
    ),
  );
  return { answers, ended: Promise.all(all) };
}

const statusesOf = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))].sort();

/** Starts service, scheduler and executor in one process, as `syncline start` does; resolves when ready. */
async function startReady(options: Parameters<typeof startService>[1] = {}): Promise<Service> {
  const service = await startService(database, {
    ...options,
    engine: { connectors: [connector(() => ({ signals: [signal('one', 'one')] }))], ...options.engine },
  });
  await service.syncline.start({ roles: ['scheduler', 'executor'] });
  await until(
    'the service is ready',
    async () => (await service.call('/readyz', { key: undefined })).status === 200,
  );
  return service;
}

async function expectProbesToSucceed({ call }: Service): Promise<void> {
  for (let i = 0; i < 3; i++)
    for (const path of ['/healthz', '/readyz'])
      expect((await call(path, { key: undefined })).status).toBe(200);
}

describe('probes', () => {
  it('probes: return 200 while 100 bodies arrive byte by byte, and callers are served', async () => {
    const service = await startReady();
    await Promise.all(Array.from({ length: 100 }, () => slowBody(service.url)));
    await until('all bodies are being read', async () => (await signIn(service)).status === 429);
    await expectProbesToSucceed(service);
    expect((await service.call('/v1/connections')).status).toBe(200);
    expect((await service.call('/v1/tenants', { method: 'POST', json: { name: 'x' } })).status).toBe(201);
  });

  it('probes: return 200 while `connections` is locked and 120 requests wait for it', async () => {
    const service = await startReady();
    const release = await lock('connections');
    const { answers, ended } = send(120, () => service.call('/v1/connections'));
    await until('requests wait for the lock', async () => (await blocked()) > 1);
    await until('the other requests are refused', () => answers.length >= 20);
    await expectProbesToSucceed(service);
    await release();
    await ended;
  });

  it('probes: concurrent probes share one database check', async () => {
    const service = await startReady();
    let [checks, active, maxActive] = [0, 0, 0];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { status } = service.syncline;
    service.syncline.status = async () => {
      checks++;
      maxActive = Math.max(maxActive, ++active);
      await held;
      return status().finally(() => active--);
    };
    const probe = () => service.call('/readyz', { key: undefined });
    const { answers, ended } = send(50, probe);
    // The previous result is cached for one second.
    await until('the database is queried', () => {
      void probe();
      return checks > 0;
    });
    const more = send(20, probe);
    // Responses are ordered: after this one, all probes wait.
    await service.call('/healthz');
    expect(checks).toBe(1);
    release();
    await Promise.all([ended, more.ended]);
    expect(maxActive).toBe(1);
    expect(statusesOf([...answers, ...more.answers])).toEqual([200]);
  });
});

describe('bodies', () => {
  it('bodies: a body that misses its deadline gets 408 and its socket is closed', async () => {
    const { url } = await startService(database, { limits: { bodyMs: 50 } });
    const answer = await raw(
      url,
      'POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    expect(answer).toMatch(/^HTTP\/1.1 408/);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('"detail":"The body did not arrive within 0.05 s."');
  });

  it('bodies: open bodies are limited per address, except for callers with a key', async () => {
    const service = await startService(database, { limits: { perAddress: 2 } });
    const slow = await slowBody(service.url);
    await slowBody(service.url);
    await until('both bodies are being read', async () => (await signIn(service)).status === 429);
    const refused = await signIn(service);
    expect(refused.body).toMatchObject({ status: 429, code: 'TOO_MANY' });
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await service.call('/v1/tenants', { method: 'POST', json: { name: 'x' } })).status).toBe(201);
    slow.destroy();
    await until('the limit is free again', async () => (await signIn(service)).status === 401);
  });

  it('bodies: X-Forwarded-For is ignored unless a trusted proxy sent it', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': `6.6.6.6, ${address}` });
    const limits = { perAddress: 1 };
    const direct = await startService(database, { limits });
    await slowBody(direct.url, from('203.0.113.1'));
    await until(
      'the body is being read',
      async () => (await signIn(direct, from('203.0.113.1'))).status === 429,
    );
    expect((await signIn(direct, from('203.0.113.2'))).status).toBe(429);

    const proxied = await startService(database, {
      limits,
      engine: { server: { trustedProxies: ['127.0.0.0/8'] } },
    });
    await slowBody(proxied.url, from('203.0.113.1'));
    await until(
      'the body is being read',
      async () => (await signIn(proxied, from('203.0.113.1'))).status === 429,
    );
    expect((await signIn(proxied, from('203.0.113.2'))).status).toBe(401);
  });

  it('bodies: visitors of several addresses cannot use up the slots of callers', async () => {
    const service = await startService(database, {
      limits: { bodies: 4, perAddress: 2 },
      engine: { server: { trustedProxies: ['127.0.0.0/8'] } },
    });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (const address of ['203.0.113.1', '203.0.113.1', '203.0.113.2', '203.0.113.2'])
      await slowBody(service.url, from(address));
    await until(
      'all bodies are being read',
      async () => (await signIn(service, from('203.0.113.3'))).status === 503,
    );
    expect((await service.call('/v1/tenants', { method: 'POST', json: { name: 'x' } })).status).toBe(201);
  });

  it('bodies: all bodies of callers share a limit in bytes', async () => {
    const service = await startService(database, { limits: { bodyBytes: 1000, bodiesBytes: 1500 } });
    const send = (size: number) =>
      service.call('/v1/tenants', { method: 'POST', json: { name: 'x'.repeat(size) } });
    const headers = { authorization: `Bearer ${service.key}`, 'content-length': '1000' };
    const large = await slowBody(service.url, headers, '/v1/tenants');
    large.write('x'.repeat(900));
    await until('the body is buffered', async () => (await send(800)).status === 503);
    expect((await send(800)).headers.get('retry-after')).toBe('5');
    expect((await send(10)).status).toBe(201);
    large.destroy();
    await until('the limit is free again', async () => (await send(800)).status !== 503);
  });
});

/** A flood must leave a slot free for the next caller. */
const isSlotLimit = ({ body }: Answer) =>
  String(body['detail']).startsWith('The service has reached its limit of');

describe('fairness', () => {
  it('fairness: requests of other callers are admitted while one caller floods', async () => {
    const service = await startReady({ limits: { requests: 20 } });
    const { key } = await service.syncline.keys.create({ name: 'flood', tenantId: tenant });
    const other = await service.syncline.tenants.create({ name: 'other' });
    const { key: otherKey } = await service.syncline.keys.create({ name: 'other', tenantId: other.id });
    const release = await lock('consumers');
    const { answers, ended } = send(120, () => service.call('/v1/consumers', { key }));
    const refused = () => answers.filter(({ status }) => status === 429);
    // 110, or fewer on a slow machine: an admitted request that times out frees its slot for another.
    await until('its share is used up', () => refused().length >= 80);
    for (let i = 0; i < 10; i++) expect((await service.call('/v1/me', { key: otherKey })).status).toBe(200);
    expect((await service.call('/v1/connections')).status).toBe(200);
    await release();
    await ended;
    expect(new Set(refused().map(({ body }) => body['code']))).toEqual(new Set(['TOO_MANY']));
    expect(refused()[0]?.headers.get('retry-after')).toBe('2');
    expect(answers.filter(isSlotLimit)).toEqual([]);
    // 503: on a slow machine, an admitted request waits too long for the lock or for response memory.
    const admitted = answers.filter((answer) => !refused().includes(answer));
    expect([[200], [200, 503], [503]]).toContainEqual(statusesOf(admitted));
  });

  it("fairness: users authenticated by the application share their tenant's requests", async () => {
    const service = await startReady({
      limits: { requests: 20 },
      authenticate: ({ headers }) => ({
        tenantId: headers.get('x-tenant') ?? tenant,
        actor: headers.get('x-actor') ?? 'user',
      }),
    });
    const other = await service.syncline.tenants.create({ name: 'other' });
    const release = await lock('consumers');
    const floods = Array.from({ length: 10 }, (_, i) =>
      send(12, () => service.call('/v1/consumers', { key: undefined, headers: { 'x-actor': `user ${i}` } })),
    );
    const refused = () => floods.flatMap(({ answers }) => answers).filter(({ status }) => status === 429);
    await until("the tenant's share is used up", () => refused().length >= 80);
    const headers = { 'x-tenant': other.id };
    expect((await service.call('/v1/me', { key: undefined, headers })).status).toBe(200);
    await release();
    await Promise.all(floods.map(({ ended }) => ended));
    expect(floods.flatMap(({ answers }) => answers).filter(isSlotLimit)).toEqual([]);
    expect(new Set(refused().map(({ body }) => body['code']))).toEqual(new Set(['TOO_MANY']));
  });

  it('fairness: a third caller reads the feed while two hold all polls they may', async () => {
    const service = await startReady({ engine: { server: { maxConcurrentRequests: 16 } } });
    const keys = await Promise.all(
      ['first', 'second', 'third'].map(async (name) => {
        const { id } = await service.syncline.tenants.create({ name });
        return (await service.syncline.keys.create({ name, tenantId: id })).key;
      }),
    );
    for (const key of keys.slice(0, 2)) {
      const statuses: string[] = [];
      for (let i = 0; i < 8; i++) {
        const { hostname, port } = new URL(service.url);
        const socket = connectTo(Number(port), hostname);
        sockets.push(socket);
        socket.on('error', () => {});
        socket.on('data', (chunk) => statuses.push(chunk.toString().slice(9, 12)));
        socket.write(
          `GET /v1/signals/feed?after=latest&wait=30 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`,
        );
      }
      await until('its share is used up', () => statuses.some((status) => status !== '200'));
    }
    expect((await service.call('/v1/signals/feed', { key: keys[2] })).status).toBe(200);
  });

  it('fairness: requests leave the engine enough database connections to run a job', async () => {
    const service = await startReady({ engine: { executor: { pollIntervalMs: 50 } } });
    const connection = await database.connect();
    const release = await lock('consumers');
    const keys = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const { id } = await service.syncline.tenants.create({ name: `tenant ${i}` });
        return (await service.syncline.keys.create({ name: 'theirs', tenantId: id })).key;
      }),
    );
    const floods = keys.map((key) => send(20, () => service.call('/v1/consumers', { key })));
    await until('requests hold all connections of their share', async () => (await blocked()) >= 4);
    await database.job(connection);
    await until('the job has been committed', async () => {
      const rows = await sql(`SELECT FROM sync_jobs WHERE connection_id = $1 AND status = 'succeeded'`, [
        connection,
      ]);
      return rows.length > 0;
    });
    expect(await blocked()).toBe(4);
    await release();
    await Promise.all(floods.map(({ ended }) => ended));
  });

  it('fairness: unknown keys are checked one at a time, and the same key once', async () => {
    const service = await startService(database);
    const release = await lock('api_keys');
    const unknown = send(15, () => service.call('/v1/me', { key: `syn_${Math.random()}` }));
    const same = send(15, () => service.call('/v1/me', { key: 'syn_same' }));
    await until('a lookup waits for the lock', async () => (await blocked()) > 0);
    // After these responses, all earlier requests have been read.
    for (let i = 0; i < 20; i++) await service.call('/healthz');
    expect(await blocked()).toBe(1);
    await release();
    await Promise.all([unknown.ended, same.ended]);
    expect(statusesOf([...unknown.answers, ...same.answers])).toEqual([401]);
  });
});

describe('load shedding', () => {
  it('load shedding: requests get 503 while the event loop lags; probes and deliveries do not', async () => {
    let delayMs = 0;
    const service = await startReady({ loopDelayMs: () => delayMs, limits: { loopDelayMs: 100 } });
    expect((await service.call('/v1/connections')).status).toBe(200);
    delayMs = 101;
    for (const path of ['/v1/connections', '/v1/live', '/openapi.json']) {
      const { status, headers, body } = await service.call(path);
      expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '2']);
      expect(body['code']).toBe('TOO_MANY');
    }
    await expectProbesToSucceed(service);
    const delivery = await service.call(`/v1/webhooks/github/${tenant}`, { method: 'POST', key: undefined });
    expect(delivery.status).toBe(401);
    delayMs = 100;
    expect((await service.call('/v1/connections')).status).toBe(200);
  });
});
