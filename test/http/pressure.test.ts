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

/** A request whose body does not come to an end. Resolves when the server has its head and the first byte of the body. */
async function slowBody(url: string, headers: Record<string, string> = {}, path = '/v1/session') {
  const { hostname, port } = new URL(url);
  const given = {
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': '100',
    ...headers,
  };
  const lines = Object.entries(given);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const socket = connectTo(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n{`, resolve));
  return socket;
}

/** Signs in with a wrong key: 401 where the body is read, 429 or 503 where it is not. */
const signIn = ({ call }: Service, headers: Record<string, string> = {}) =>
  call('/v1/session', { method: 'POST', key: undefined, json: { key: 'syn_wrong' }, headers });

/** Holds a table so that statements on it wait, until the test ends or the transaction does. */
async function lock(table: string) {
  const session = await database.session();
  await session.query(`BEGIN; LOCK TABLE syncline.${table} IN ACCESS EXCLUSIVE MODE`);
  return () => session.query('ROLLBACK');
}

/** Statements that wait for a lock. */
async function blocked(): Promise<number> {
  const [row] = await sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row?.n ?? 0;
}

/** Requests that are under way, and those that were answered. */
function send(count: number, ask: () => Promise<Answer>) {
  const answers: Answer[] = [];
  const all = Array.from({ length: count }, () =>
    ask().then(
      (answer) => void answers.push(answer),
      () => {},
    ),
  );
  return { answers, ended: Promise.all(all) };
}

const statusesOf = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))].sort();

/** A service with its engine in the same process, as `syncline start` runs it, that has ticked once. */
async function running(options: Parameters<typeof startService>[1] = {}): Promise<Service> {
  const service = await startService(database, {
    ...options,
    engine: { connectors: [connector(() => ({ signals: [signal('one', 'one')] }))], ...options.engine },
  });
  await service.syncline.start({ roles: ['scheduler', 'executor'] });
  await until('it is ready', async () => (await service.call('/readyz', { key: undefined })).status === 200);
  return service;
}

async function expectProbesToSucceed({ call }: Service): Promise<void> {
  for (let i = 0; i < 3; i++)
    for (const path of ['/healthz', '/readyz'])
      expect((await call(path, { key: undefined })).status).toBe(200);
}

describe('probes', () => {
  it('probes: answer 200 while 100 bodies are coming in byte by byte, and callers are served', async () => {
    const service = await running();
    await Promise.all(Array.from({ length: 100 }, () => slowBody(service.url)));
    await until('all of them are being read', async () => (await signIn(service)).status === 429);
    await expectProbesToSucceed(service);
    expect((await service.call('/v1/connections')).status).toBe(200);
    expect((await service.call('/v1/tenants', { method: 'POST', json: { name: 'x' } })).status).toBe(201);
  });

  it('probes: answer 200 while `connections` is locked and 120 requests wait for it', async () => {
    const service = await running();
    const release = await lock('connections');
    const { answers, ended } = send(120, () => service.call('/v1/connections'));
    await until('requests wait for the lock', async () => (await blocked()) > 1);
    await until('the others are refused', () => answers.length >= 20);
    await expectProbesToSucceed(service);
    await release();
    await ended;
  });

  it('probes: one check of the database is under way, however many probes wait for it', async () => {
    const service = await running();
    let [checks, underWay, maxUnderWay] = [0, 0, 0];
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { status } = service.syncline;
    service.syncline.status = async () => {
      checks++;
      maxUnderWay = Math.max(maxUnderWay, ++underWay);
      await held;
      return status().finally(() => underWay--);
    };
    const probe = () => service.call('/readyz', { key: undefined });
    const { answers, ended } = send(50, probe);
    // The answer before is used for a second.
    await until('the database is asked', () => {
      void probe();
      return checks > 0;
    });
    const more = send(20, probe);
    // What is asked later is answered later: by then all of these wait.
    await service.call('/healthz');
    expect(checks).toBe(1);
    goOn();
    await Promise.all([ended, more.ended]);
    expect(maxUnderWay).toBe(1);
    expect(statusesOf([...answers, ...more.answers])).toEqual([200]);
  });
});

describe('bodies', () => {
  it('bodies: one that does not come in by its deadline is answered with 408, and its socket is closed', async () => {
    const { url } = await startService(database, { limits: { bodyMs: 50 } });
    const answer = await raw(
      url,
      'POST /v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    expect(answer).toMatch(/^HTTP\/1.1 408/);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('"detail":"The body did not arrive within 0.05 s."');
  });

  it('bodies: an address has a limit of those that are open, which callers with a key do not share', async () => {
    const service = await startService(database, { limits: { perAddress: 2 } });
    const slow = await slowBody(service.url);
    await slowBody(service.url);
    await until('both are being read', async () => (await signIn(service)).status === 429);
    const refused = await signIn(service);
    expect(refused.body).toMatchObject({ status: 429, code: 'TOO_MANY' });
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await service.call('/v1/tenants', { method: 'POST', json: { name: 'x' } })).status).toBe(201);
    slow.destroy();
    await until('there is room again', async () => (await signIn(service)).status === 401);
  });

  it('bodies: X-Forwarded-For is ignored unless it comes from a trusted proxy', async () => {
    const from = (address: string) => ({ 'x-forwarded-for': `6.6.6.6, ${address}` });
    const limits = { perAddress: 1 };
    const direct = await startService(database, { limits });
    await slowBody(direct.url, from('203.0.113.1'));
    await until('it is being read', async () => (await signIn(direct, from('203.0.113.1'))).status === 429);
    expect((await signIn(direct, from('203.0.113.2'))).status).toBe(429);

    const proxied = await startService(database, {
      limits,
      engine: { server: { trustedProxies: ['127.0.0.0/8'] } },
    });
    await slowBody(proxied.url, from('203.0.113.1'));
    await until('it is being read', async () => (await signIn(proxied, from('203.0.113.1'))).status === 429);
    expect((await signIn(proxied, from('203.0.113.2'))).status).toBe(401);
  });

  it('bodies: those that are being received have a bound in bytes together', async () => {
    const service = await startService(database, { limits: { bodyBytes: 1000, bodiesBytes: 1500 } });
    const send = (size: number) =>
      service.call('/v1/tenants', { method: 'POST', json: { name: 'x'.repeat(size) } });
    const large = await slowBody(service.url, { 'content-length': '1000' });
    large.write('x'.repeat(900));
    await until('it has come in', async () => (await send(800)).status === 503);
    expect((await send(800)).headers.get('retry-after')).toBe('5');
    expect((await send(10)).status).toBe(201);
    large.destroy();
    await until('there is room again', async () => (await send(800)).status !== 503);
  });
});

describe('fairness', () => {
  it('fairness: while one caller floods, the requests of another are admitted', async () => {
    const service = await running({ limits: { requests: 20 } });
    const { key } = await service.syncline.keys.create({ name: 'flood', tenantId: tenant });
    const other = await service.syncline.tenants.create({ name: 'other' });
    const { key: otherKey } = await service.syncline.keys.create({ name: 'other', tenantId: other.id });
    const release = await lock('consumers');
    const { answers, ended } = send(120, () => service.call('/v1/consumers', { key }));
    await until('its share is used up', () => answers.length >= 110);
    expect(statusesOf(answers.slice(0, 110))).toEqual([429]);
    expect(answers[0]?.headers.get('retry-after')).toBe('2');
    for (let i = 0; i < 10; i++) expect((await service.call('/v1/me', { key: otherKey })).status).toBe(200);
    expect((await service.call('/v1/connections')).status).toBe(200);
    await release();
    await ended;
    // The ten that were admitted; on a machine that is slower than the lock timeout they end with 503.
    expect([[200], [200, 503], [503]]).toContainEqual(statusesOf(answers.slice(110)));
  });

  it('fairness: requests leave database connections to the engine: a job is claimed and committed beside them', async () => {
    const service = await running({ engine: { executor: { pollIntervalMs: 50 } } });
    const connection = await database.connect();
    const release = await lock('consumers');
    const keys = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const { id } = await service.syncline.tenants.create({ name: `tenant ${i}` });
        return (await service.syncline.keys.create({ name: 'theirs', tenantId: id })).key;
      }),
    );
    const floods = keys.map((key) => send(20, () => service.call('/v1/consumers', { key })));
    await until('requests hold all the connections that they may', async () => (await blocked()) >= 4);
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

  it('fairness: unknown keys are checked one at a time, and the same one once', async () => {
    const service = await startService(database);
    const release = await lock('api_keys');
    const unknown = send(15, () => service.call('/v1/me', { key: `syn_${Math.random()}` }));
    const same = send(15, () => service.call('/v1/me', { key: 'syn_same' }));
    await until('one waits for the lock', async () => (await blocked()) > 0);
    // By the time these are answered, the requests that were sent before them have been read.
    for (let i = 0; i < 20; i++) await service.call('/healthz');
    expect(await blocked()).toBe(1);
    await release();
    await Promise.all([unknown.ended, same.ended]);
    expect(statusesOf([...unknown.answers, ...same.answers])).toEqual([401]);
  });
});

describe('load shedding', () => {
  it('load shedding: while the event loop is late, requests get 503 with Retry-After; probes and deliveries do not', async () => {
    let delayMs = 0;
    const service = await running({ loopDelayMs: () => delayMs, limits: { loopDelayMs: 100 } });
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
