import { afterEach, expect, test } from 'vitest';
import { defineConnector } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { type Listener, listen } from './events.ts';
import { cookieOf, type Service, startService } from './service.ts';

const db = useDatabase();
const listeners: Listener[] = [];
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close();
});

async function open(...args: Parameters<typeof listen>): Promise<Listener> {
  const listener = await listen(...args);
  listeners.push(listener);
  return listener;
}

/** A connector that returns one numbered signal per run. */
const counting = defineConnector({
  provider: 'github',
  name: 'GitHub',
  sync: async ({ cursor }) => {
    const n = Number(cursor ?? 0) + 1;
    return {
      signals: [{ kind: 'counted', occurredAt: new Date(), payload: { n, line: 'a\nb' } }],
      nextCursor: n,
    };
  },
});

const start = (options: Parameters<typeof startService>[1] = {}) =>
  startService(db, { engine: { connectors: [counting] }, ...options });

async function emit({ syncline }: Service, connectionId: string, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    await syncline.connections.trigger(connectionId);
    await syncline.drain();
  }
}

const connection = ({ syncline }: Service, tenantId = tenant) =>
  syncline.connections.create({ tenantId, provider: 'github' });

const numbers = ({ events }: Listener) =>
  events.filter(({ event }) => event === 'signal').map(({ data }) => (data['payload'] as { n: number }).n);

const receivesSignals = (listener: Listener, count: number) =>
  until(`there are ${count} signals`, () => numbers(listener).length >= count);

test('live: delivers stored signals, and a resumed stream misses none', async () => {
  const service = await start();
  const { id } = await connection(service);
  await emit(service, id);
  const listener = await open(service, '/v1/live');
  expect(listener.headers.get('content-type')).toContain('text/event-stream');
  await emit(service, id, 2);
  await receivesSignals(listener, 2);
  expect(numbers(listener)).toEqual([2, 3]);
  const [hello] = listener.events;
  expect(hello).toMatchObject({ event: 'hello', data: { version: '1.2.3', gap: false } });
  const first = listener.events.find(({ event }) => event === 'signal');
  expect(first?.data).toMatchObject({ connection_id: id, kind: 'counted', payload: { n: 2, line: 'a\nb' } });
  expect(first?.data['cursor']).toBe(first?.id);
  listener.close();

  await emit(service, id, 2);
  const headers = { authorization: `Bearer ${service.key}`, 'last-event-id': first?.id ?? '' };
  const resumed = await open(service, '/v1/live', headers);
  await receivesSignals(resumed, 3);
  expect(numbers(resumed)).toEqual([3, 4, 5]);
  const all = await open(service, `/v1/live?after=beginning&connection_id=${id}`);
  await receivesSignals(all, 5);
  expect(numbers(all)).toEqual([1, 2, 3, 4, 5]);
});

test('FEED-1: a stream opened during the commit of a signal delivers it', async () => {
  const service = await start();
  const { id } = await connection(service);
  await emit(service, id);
  const client = await db.session();
  await client.query('BEGIN');
  await client.query(
    `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     VALUES ($1, 'github', $2, 'counted', now(), '{"n": 7}')`,
    [tenant, id],
  );
  // The position is assigned but not visible yet.
  await client.query('SET CONSTRAINTS ALL IMMEDIATE');
  const listener = await open(service, `/v1/live?connection_id=${id}`);
  await until('the stream is open', () => listener.events.length > 0);
  await client.query('COMMIT');
  await receivesSignals(listener, 1);
  expect(numbers(listener)).toEqual([7]);
});

test('live: filters and tenant scope limit the delivered signals', async () => {
  const service = await start();
  const other = await service.syncline.tenants.create({ name: 'other' });
  const [own, theirs] = [await connection(service), await connection(service, other.id)];
  const { key } = await service.syncline.keys.create({ name: 'theirs', tenantId: other.id });
  const tenants = await open({ ...service, key }, '/v1/live');
  const otherTenant = await open({ ...service, key }, `/v1/live?tenant_id=${tenant}`);
  const filtered = await open(service, `/v1/live?connection_id=${own.id}`);
  const nothing = await open(service, '/v1/live?kind=other');
  await emit(service, own.id);
  await emit(service, theirs.id);
  await receivesSignals(tenants, 1);
  await receivesSignals(filtered, 1);
  expect(
    tenants.events.filter(({ event }) => event === 'signal').map(({ data }) => data['connection_id']),
  ).toEqual([theirs.id]);
  expect(
    filtered.events.filter(({ event }) => event === 'signal').map(({ data }) => data['connection_id']),
  ).toEqual([own.id]);
  expect(numbers(nothing)).toEqual([]);
  expect(otherTenant.status).toBe(403);
});

test('live: all streams share one query per pulse', async () => {
  const service = await start({ live: { pulseMs: 100, heartbeatMs: 50 } });
  let queries = 0;
  const { as } = service.syncline;
  service.syncline.as = (caller) => {
    const view = as(caller);
    const { overview } = view.stats;
    view.stats.overview = () => {
      queries++;
      return overview();
    };
    return view;
  };
  const all = await Promise.all(Array.from({ length: 5 }, () => open(service, '/v1/live')));
  const pulses = ({ events }: Listener) => events.filter(({ event }) => event === 'pulse');
  await until('every stream has received pulses', () => all.every((stream) => pulses(stream).length >= 4));
  expect(pulses(all[0] as Listener)[0]?.data).toMatchObject({
    last_minute: { succeeded: expect.any(Number), signals: expect.any(Number) },
    running: 0,
  });
  expect((all[0] as Listener).heartbeats()).toBeGreaterThan(2);
  const received = all.reduce((sum, stream) => sum + pulses(stream).length, 0);
  expect(queries).toBeLessThan(received / 2);
});

test('live: a stream ends with its session', async () => {
  const service = await start({ live: { heartbeatMs: 50 } });
  const login = await service.call('/v1/session', {
    method: 'POST',
    key: undefined,
    json: { key: service.key },
  });
  const cookie = `syncline_session=${cookieOf(login)}`;
  const listener = await open(service, '/v1/live', { cookie });
  await service.call('/v1/session', {
    method: 'DELETE',
    key: undefined,
    headers: { cookie, 'x-syncline-request': '1' },
  });
  await listener.ended;
  expect((await open(service, '/v1/live', { cookie })).status).toBe(401);
});

test('live: closing the server immediately ends streams and long polls', async () => {
  const service = await start();
  let polls = 0;
  const { as } = service.syncline;
  service.syncline.as = (caller) => {
    const view = as(caller);
    const { read } = view.signals;
    view.signals.read = (request) => {
      if (request?.waitMs === 30_000) polls++;
      return read(request);
    };
    return view;
  };
  const listener = await open(service, '/v1/live');
  const poll = service.call('/v1/signals/feed?after=latest&wait=30');
  await until('the poll waits', () => polls === 1);
  const before = performance.now();
  await service.server.close();
  // The server destroys remaining sockets after 5 s.
  expect(performance.now() - before).toBeLessThan(4900);
  await listener.ended;
  const { status, body } = await poll;
  expect(status).toBe(200);
  expect(body.items).toEqual([]);
});

test('live: a closed stream frees its slot, and HEAD takes none', async () => {
  const service = await start({ limits: { streams: 1 } });
  expect((await service.call('/v1/live', { method: 'HEAD' })).status).toBe(200);
  const first = await open(service, '/v1/live');
  expect((await service.call('/v1/live')).body).toMatchObject({ status: 503, code: 'TOO_MANY' });
  first.close();
  await until('the slot is free', async () => {
    const next = await open(service, '/v1/live');
    return next.status === 200;
  });
});

test('feed: is read in pages by cursor or by consumer', async () => {
  const service = await start();
  const { call } = service;
  const { id } = await connection(service);
  await emit(service, id, 3);
  const only = `connection_id=${id}`;
  const first = await call(`/v1/signals/feed?limit=2&${only}`);
  expect(first.body.items.map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 2]);
  const rest = await call(`/v1/signals/feed?${only}&payload=false&after=${first.body['next_cursor']}`);
  expect(rest.body.items).toHaveLength(1);
  expect(rest.body.items[0]).not.toHaveProperty('payload');

  const put = await call('/v1/consumers/search', {
    method: 'PUT',
    json: { after: first.body['next_cursor'] },
  });
  expect(put.body).toMatchObject({ name: 'search', tenant_id: null, after: first.body['next_cursor'] });
  const consumed = await call(`/v1/signals/feed?consumer=search&${only}`);
  expect(consumed.body.items.map(({ payload }) => (payload as { n: number }).n)).toEqual([3]);
  expect((await call('/v1/consumers')).body.items).toHaveLength(1);
  expect((await call('/v1/consumers/search', { method: 'DELETE' })).status).toBe(204);
  expect((await call('/v1/consumers/search')).status).toBe(404);

  const waiting = call(`/v1/signals/feed?after=latest&wait=20&${only}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await emit(service, id);
  expect((await waiting).body.items).toHaveLength(1);
});

test('feed: an expired cursor gets EXPIRED, and a live stream reports the gap', async () => {
  const service = await start();
  const { id } = await connection(service);
  await emit(service, id, 2);
  const feed = await service.call(`/v1/signals/feed?limit=1&connection_id=${id}`);
  const expiredCursor = String(feed.body['next_cursor']);
  await db.sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
  expect((await service.call(`/v1/signals/feed?after=${expiredCursor}`)).body).toMatchObject({
    status: 410,
    code: 'EXPIRED',
  });
  // Live streams continue with a gap flag: EventSource does not reconnect after an error status.
  const headers = { authorization: `Bearer ${service.key}`, 'last-event-id': expiredCursor };
  for (const resumed of [
    await open(service, '/v1/live', headers),
    await open(service, `/v1/live?after=${expiredCursor}`),
  ]) {
    await until('the stream is open', () => resumed.events.length > 0);
    expect(resumed.events[0]).toMatchObject({ event: 'hello', data: { gap: true } });
  }
});
