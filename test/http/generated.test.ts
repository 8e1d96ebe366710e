import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { hostRule } from '../../src/http/hosts.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { startServer } from '../../src/http/server.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, useDatabase } from '../support/database.ts';
import { seed } from '../support/seed.ts';
import { isFullSize, sized } from '../support/size.ts';
import { forEachConcurrently } from '../support/worker.ts';
import { faultsOf } from './answer-faults.ts';
import { generateRequest, type Known } from './generated-requests.ts';
import { brokenRequests } from './hostile-values.ts';
import { type Document, type Operation, operationsOf } from './openapi-operations.ts';
import { chanceOf } from './random.ts';
import { type Belongings, makeWorld, type World, work } from './tenant-world.ts';
import { type Answer, type Wire, type WireRequest, wireTo } from './wire.ts';

const database = useDatabase();
const localLogin = createLocalLogin(systemPorts.monotonicMs);
let world: World;
let wire: Wire;
const page = '<!doctype html><head></head>';
let host: string;
let closeServer: () => Promise<void>;
let operations: Operation[];

beforeAll(async () => {
  world = await makeWorld(database);
  const app = createApp({
    syncline: world.engine,
    log: silent,
    version: 'test',
    metrics: () => 'metrics',
    dashboard: async () => ({ 'index.html': page, 'docs.html': page }),
    localLogin,
    hosts: hostRule('127.0.0.1'),
    live: { pulseMs: 40 },
  });
  const server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  closeServer = server.close;
  host = new URL(server.url).host;
  wire = wireTo(server.url);
  const { text } = await wire.send({ method: 'GET', target: '/openapi.json' });
  operations = operationsOf(JSON.parse(text) as Document);
});
afterAll(async () => {
  wire?.close();
  await closeServer?.();
  await world?.close();
});

const requestCount = sized(10_000, 400);
const concurrency = 16;
/** After each round, deleted data is recreated and ids are read again. */
const requestsPerRound = 500;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const wrongKey = `syn_${'w'.repeat(43)}`;

/** Secrets that no response may contain. */
const secrets = new Set<string>([wrongKey, localLogin.issue(), localLogin.secret]);

/** Opens sessions before the first wrong key: after many wrong keys, this address is locked out. */
async function openSessions(count: number): Promise<string[]> {
  const cookies: string[] = [];
  for (let i = 0; i < count; i++) {
    const answer = await wire.send({
      method: 'POST',
      target: '/v1/session',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: world.operatorKey }),
    });
    const cookie = answer.headers['set-cookie']?.split(';')[0] ?? '';
    secrets.add(cookie.split('=')[1] ?? '');
    const { status } = await wire.send({ method: 'GET', target: '/v1/me', headers: { cookie } });
    expect(status).toBe(200);
    cookies.push(cookie);
  }
  return cookies;
}

/** Recreates what earlier requests deleted. */
async function refill({ tenantId, marker }: Belongings): Promise<void> {
  const view = world.engine.as({ tenantId, actor: 'test' });
  for (let i = 0; i < 5; i++) {
    const { id } = await view.connections.create({ tenantId, provider: 'unserved', externalId: marker });
    await view.connections.trigger(id);
    const config = { marker };
    const steady = await view.connections.create({ tenantId, provider: 'steady', config });
    await view.connections.trigger(steady.id);
    await view.consumers.move(`reader ${i}`, 'beginning');
    await view.keys.create({ name: `to be revoked ${randomUUID()}` });
    const secret = { type: 'api_key' as const, key: `${marker}-kept` };
    secrets.add(secret.key);
    await view.credentials.create({ tenantId, provider: 'steady', secret });
  }
}

/** Cursors of every list, read by an operator in pages of one item. */
async function findCursors(connectionId: string): Promise<Record<string, string[]>> {
  const cursors: Record<string, string[]> = {};
  const lists = operations.filter(({ fields }) =>
    fields.some(({ name, in: place }) => place === 'query' && name === 'limit'),
  );
  for (const { path, fields } of lists) {
    const canFilter = fields.some(({ name }) => name === 'connection_id');
    for (const filter of canFilter ? ['', `&connection_id=${connectionId}`] : ['']) {
      const target = `${path.replace('{id}', connectionId)}?limit=1${filter}`;
      const { text } = await wire.send({ method: 'GET', target, headers: bearer(world.operatorKey) });
      const cursor = (JSON.parse(text) as { next_cursor: string | null }).next_cursor;
      if (cursor !== null) cursors[path] = [...(cursors[path] ?? []), cursor];
    }
  }
  return cursors;
}

/** Reads the existing ids, names and cursors. */
async function readKnown(cookie: string): Promise<Known> {
  const { operatorKey, tenants } = world;
  const column = async (query: string) =>
    (await database.sql<{ value: string }>(`${query} LIMIT 300`)).map(({ value }) => value);
  const newest = async (table: string) => column(`SELECT id AS value FROM ${table} ORDER BY id DESC`);
  const [busiest = ''] = await column(
    `SELECT connection_id AS value FROM signals GROUP BY 1 ORDER BY count(*) DESC, 1`,
  );
  const cursors = await findCursors(busiest);
  return {
    things: {
      tenants: await newest('tenants'),
      connections: await newest('connections'),
      jobs: await newest('sync_jobs'),
      signals: await newest('signals'),
      credentials: await newest('credentials'),
      // Keys that no caller uses.
      keys: await column(`SELECT id AS value FROM api_keys WHERE name = 'to be revoked'`),
      consumers: await column('SELECT name AS value FROM consumers'),
      providers: await column('SELECT slug AS value FROM providers'),
      kinds: await column('SELECT DISTINCT kind AS value FROM signals'),
      searches: await column('SELECT external_id AS value FROM connections WHERE external_id IS NOT NULL'),
      places: ['beginning', 'latest', ...(cursors['/v1/signals/feed'] ?? [])],
      secrets: [operatorKey, wrongKey],
    },
    cursors,
    callers: [
      ...Array.from({ length: 10 }, () => bearer(operatorKey)),
      ...tenants.flatMap(({ key }) => Array.from({ length: 5 }, () => bearer(key))),
      ...Array.from({ length: 3 }, () => ({ cookie, 'x-syncline-request': '1' })),
      { cookie },
      {},
      bearer(wrongKey),
      { authorization: `Basic ${Buffer.from('user:word').toString('base64')}` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${operatorKey} ${operatorKey}` },
    ],
  };
}

const describeRequest = ({ method, target, headers, body }: WireRequest) =>
  `${method} ${target.slice(0, 600)} ${JSON.stringify(headers)?.slice(0, 300)} ${String(body ?? '').slice(0, 600)}`;

describe('robustness: generated requests', () => {
  it(`robustness: ${requestCount} generated requests get a valid response or a problem document`, {
    timeout: 600_000,
  }, async () => {
    const chance = chanceOf(seed);
    const faults: string[] = [];
    const statuses = new Map<string, number>();
    for (const secret of [world.operatorKey, ...world.tenants.map(({ key }) => key), database.url])
      secrets.add(secret);
    const cookies = await openSessions(requestCount / requestsPerRound);
    for (const cookie of cookies) {
      for (const tenant of world.tenants) await refill(tenant);
      await work(database, 1);
      const known = await readKnown(cookie);
      const requests = Array.from({ length: requestsPerRound }, () =>
        generateRequest(chance, operations, known),
      );
      await forEachConcurrently(concurrency, requests, async (request) => {
        const answer = await wire.send(request).catch((error: Error) => error.message);
        const found = typeof answer === 'string' ? [answer] : faultsOf(request.method, answer, secrets);
        const status = typeof answer === 'string' ? answer.slice(-30) : String(answer.status);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        faults.push(...found.map((fault) => `${describeRequest(request)} → ${fault}`));
      });
    }
    expect(faults.slice(0, 20), `${faults.length} faults with TEST_SEED=${seed}`).toEqual([]);
    const rare = ['204', '409', '414', '431'];
    const expected = ['200', '201', '400', '401', '403', '404', '405', ...(isFullSize ? rare : [])];
    const missing = expected.filter((status) => !statuses.has(status));
    expect(missing, 'statuses that no request reached').toEqual([]);
    expect((await wire.send({ method: 'GET', target: '/healthz' })).status).toBe(200);
  });

  it('robustness: malformed HTTP gets a problem document or is disconnected', async () => {
    const faults: string[] = [];
    for (const bytes of brokenRequests(host)) {
      const text = await wire.sendBytes(bytes);
      if (text === '') continue;
      const found = faultsOf(String(bytes).split(' ')[0] ?? '', parsed(text), secrets);
      faults.push(...found.map((fault) => `${JSON.stringify(String(bytes).slice(0, 100))} → ${fault}`));
    }
    expect(faults).toEqual([]);
    expect((await wire.send({ method: 'GET', target: '/healthz' })).status).toBe(200);
  });
});

function parsed(text: string): Answer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const body = rest.join('\r\n\r\n');
  const isChunked = headers['transfer-encoding'] === 'chunked';
  const decoded = isChunked ? body.replaceAll(/(^|\r\n)[\da-f]+(\r\n|$)/g, '') : body;
  return { status: Number(first.split(' ')[1]), headers, text: decoded };
}
