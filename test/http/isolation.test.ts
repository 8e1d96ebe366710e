import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { startServer } from '../../src/http/server.ts';
import { createSyncline, type Syncline } from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { silent, useDatabase } from '../support/database.ts';
import { asGithub } from '../webhooks/hooked.ts';
import {
  cursorsOf,
  filled,
  inOrder,
  listOf,
  named,
  namingFields,
  neededNames,
  requestsFor,
  type Thing,
  withKey,
} from './named-things.ts';
import { type Document, type Field, nounOf, type Operation, operationsOf } from './openapi-operations.ts';
import { shapesOf } from './openapi-requests.ts';
import { allRows, type Finder, finderOf } from './secrets-of.ts';
import { type Belongings, makeWorld, type World, work } from './tenant-world.ts';
import { type Answer, type Wire, type WireRequest, wireTo } from './wire.ts';

const database = useDatabase();
let world: World;
let operations: Operation[];
let wire: Wire;
let closeServer: () => Promise<void>;
/** Who asks, and who is not to be found. */
let own: Belongings;
let foreign: Belongings;
let findForeign: Finder;

const appOf = (syncline: Syncline) =>
  createApp({ syncline, log: silent, version: 'test', metrics: () => 'metrics', live: { pulseMs: 40 } });

async function serve(syncline = world.engine) {
  const server = await startServer({ app: appOf(syncline), host: '127.0.0.1', port: 0 });
  const connected = wireTo(server.url);
  const close = async () => {
    connected.close();
    await server.close();
  };
  return { wire: connected, close };
}

beforeAll(async () => {
  world = await makeWorld(database);
  ({ wire, close: closeServer } = await serve());
  const { text } = await wire.send({ method: 'GET', target: '/openapi.json' });
  operations = inOrder(operationsOf(JSON.parse(text) as Document));
  [own, foreign] = (await Promise.all(world.tenants.map(withPlaces))) as [Belongings, Belongings];
  findForeign = await finderOf(database, foreign, own);
});
afterAll(async () => {
  await closeServer?.();
  await world?.close();
});

/** The same things with places in the feed, as their owner is told them. */
async function withPlaces(owner: Belongings): Promise<Belongings> {
  const feed = operations.find(({ path }) => path === '/v1/signals/feed') as Operation;
  const places = await cursorsOf(wire, [owner.key], feed, owner.things[0] ?? {});
  const things = owner.things.map((thing, i) => ({ ...thing, places: places[i % places.length] ?? '' }));
  return { ...owner, things };
}

/** Somebody's things, with cursors of the operation's list. */
async function thingsFor(operation: Operation, owner: Belongings): Promise<Thing[]> {
  const hasCursor = operation.fields.some((field) => nounOf(operation, field) === 'cursors');
  const list = listOf(operations, operation);
  const keys = [owner.key, world.operatorKey];
  const cursors = hasCursor && list ? await cursorsOf(wire, keys, list, owner.things[0] ?? {}) : [];
  // Whoever has the key of another tenant is that tenant, so it is always the own one.
  const secrets = own.key;
  return owner.things.map((thing, i) => ({ ...thing, secrets, cursors: cursors[i % cursors.length] ?? '' }));
}

const isFine = ({ status }: Answer) => status >= 200 && status < 300;

/** Signs what is sent to a webhook, with the own secret. Elsewhere it means nothing. */
const signed = (request: WireRequest): WireRequest => ({
  ...request,
  headers: { ...asGithub(own.webhookSecret, request.body ?? ''), ...request.headers },
});

/** Asks with the own key, and sees to it that nothing of the other tenant comes back. */
async function ask(operation: Operation, request: WireRequest): Promise<Answer> {
  const answer = await wire.send(signed(withKey(own.key, request)));
  const { status, headers, text } = answer;
  const asked = `${request.method} ${request.target} ${JSON.stringify(request.headers)} ${String(request.body)}`;
  const where = `${operation.id}: ${asked} → ${status} ${text.slice(0, 500)}`;
  const given = findForeign(`${asked} ${decodeURIComponent(request.target)}`);
  const told = findForeign(`${JSON.stringify(headers)} ${text}`);
  const leaked = [...told].filter((one) => !given.has(one));
  expect(leaked, `what is another's is told by ${where}`).toEqual([]);
  // A place in the feed is where its reader is, whoever was there before; it is told nothing that it did not say.
  const places = foreign.things.map((thing) => thing['places'] ?? '');
  const others = places.reduce((rest, place) => rest.replaceAll(place, 'there'), text);
  // What a name in the path of a PUT makes is the asker's own, whoever else has one of that name.
  const isMade = request.method === 'PUT' && isFine(answer);
  if (findForeign(others).size > 0 && !isMade) {
    expect([400, 403, 404], `what is another's is repeated by ${where}`).toContain(status);
    expect(headers['content-type'], where).toBe('application/problem+json');
  }
  return answer;
}

/** Asks for the own things, one after the other, until it works with every field that names something. */
async function findUnworkable(operation: Operation, start: number): Promise<string[]> {
  const needed = neededNames(operation);
  const left = new Set<Field | undefined>([undefined, ...namingFields(operation)]);
  const things = await thingsFor(operation, own);
  const [shape = new Map()] = shapesOf(operation);
  // Each begins elsewhere, so that what one has paused or cancelled is not what the next one needs.
  for (const thing of [...things.slice(start), ...things.slice(0, start)])
    for (const field of [...left]) {
      const fields = field === undefined ? needed : [...new Set([...needed, field])];
      const answer = await ask(operation, filled(operation, shape, named(operation, fields, thing)));
      if (isFine(answer)) for (const worked of [undefined, ...fields]) left.delete(worked);
      if (left.size === 0) return [];
    }
  return [...left].map((field) => `${operation.id} never worked with ${field?.name ?? 'what it needs'}`);
}

/** The plainest request for an operation, for something of one's own. */
async function plainly(operation: Operation): Promise<WireRequest> {
  const [thing = {}] = await thingsFor(operation, own);
  return filled(operation, new Map(), named(operation, neededNames(operation), thing));
}

describe('isolation: a tenant sees and changes nothing but its own', () => {
  it('isolation: every route of the service is described, so that none is left out here', () => {
    const described = new Set(
      operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    const served = appOf(world.engine)
      .routes.filter(({ method, path }) => method !== 'ALL' && /^\/v1\b/.test(path))
      .map(({ method, path }) => `${method} ${path}`);
    expect(served.length).toBeGreaterThan(0);
    expect([...new Set(served)].filter((route) => !described.has(route))).toEqual([]);
  });

  it('isolation: without a key every operation answers 401, and so does whatever is not there', async () => {
    for (const operation of operations.filter(({ needsKey }) => needsKey)) {
      const answer = await wire.send(await plainly(operation));
      expect(answer.status, operation.id).toBe(401);
      expect(answer.headers['www-authenticate'], operation.id).toContain('Bearer');
    }
    for (const target of ['/v1', '/v1/', '/v1/nothing', '/v1/connections/nothing/at/all'])
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
        expect((await wire.send({ method, target })).status, `${method} ${target}`).toBe(401);
    const open = operations.filter(({ needsKey }) => !needsKey).map(({ path }) => path);
    expect(open.filter((path) => path.startsWith('/v1')).sort()).toEqual([
      '/v1/connections/callback',
      '/v1/connections/consent',
      '/v1/connections/consent',
      '/v1/session',
      '/v1/webhooks/{provider}/{connection}',
    ]);
  });

  it('isolation: a key that was revoked answers 401 everywhere, at once where it was revoked', async () => {
    const view = world.engine.as({ tenantId: own.tenantId, actor: `${own.marker}-actor` });
    const { id, key } = await view.keys.create({ name: `${own.marker}-revoked` });
    const me: WireRequest = { method: 'GET', target: '/v1/me' };
    expect((await wire.send(withKey(key, me))).status).toBe(200);
    await wire.send(withKey(own.key, { method: 'DELETE', target: `/v1/keys/${id}` }));
    expect((await wire.send(withKey(key, me))).status).toBe(401);
    for (const operation of operations.filter(({ needsKey }) => needsKey)) {
      // A server each: one that was shown a wrong key often is asked to wait, rather than told that it is wrong.
      const fresh = await serve();
      const answer = await fresh.wire.send(withKey(key, await plainly(operation)));
      await fresh.close();
      expect(answer.status, operation.id).toBe(401);
    }
  });

  it('isolation: every operation works with the own ids, names and cursors, unless it is for operators', async () => {
    const unworkable: string[] = [];
    // Only a person with a link and a browser can use these: test/credentials/binding.test.ts goes all the way.
    const byBrowser = ['showConsent', 'startConsent', 'finishAuthorization'];
    for (const [i, operation] of operations.entries())
      if (!operation.isOperatorOnly && !byBrowser.includes(operation.id))
        unworkable.push(...(await findUnworkable(operation, (i * 3) % own.things.length)));
    expect(unworkable).toEqual([]);
  });

  it('isolation: whatever another tenant does, not a number in what is told changes', async () => {
    // Time stands still, and what is done lies behind it: then there is nothing else that could make a difference.
    const ports = testPorts(new Date(Date.now() + 90_000).toISOString());
    const still = createSyncline({ database: database.url, logger: silent, ports });
    const fresh = await serve(still);
    const looked = operations.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1'));
    const look = async () => {
      const told: Record<string, string> = {};
      for (const operation of looked.filter(({ isStream }) => !isStream)) {
        const { status, text } = await fresh.wire.send(withKey(own.key, await plainly(operation)));
        // The feed is everybody's: where it ends is no secret.
        const { next_cursor: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
        told[operation.id] = `${status} ${JSON.stringify(rest)}`;
      }
      return told;
    };
    try {
      await work(database, 1);
      const before = await look();
      const { tenantId, marker } = foreign;
      const view = world.engine.as({ tenantId, actor: `${marker}-actor` });
      for (const provider of ['steady', 'steady', 'broken', 'locked', 'shaky', 'unserved']) {
        const { id } = await view.connections.create({ tenantId, provider, config: { marker } });
        await view.connections.trigger(id);
        await view.keys.create({ name: `${marker}-later-${id}` });
        const secret = { type: 'api_key' as const, key: `${marker}-secret` };
        await view.credentials.create({ tenantId, provider, secret });
        await view.consumers.move(`${marker}-later-${provider}`, 'latest');
      }
      await work(database, 1);
      expect(await look()).toEqual(before);
    } finally {
      await fresh.close();
      await still.stop();
    }
  });

  it('isolation: with the ids, names and cursors of another tenant nothing of it is told or changed, by any operation', {
    timeout: 600_000,
  }, async () => {
    const isMine = (row: string) => row.includes(own.tenantId) || row.includes(own.marker);
    const notMine = async () =>
      (await allRows(database)).filter((row) => !isMine(row) && !row.startsWith('processes ')).sort();
    findForeign = await finderOf(database, foreign, own);
    const before = await notMine();
    expect(before.filter((row) => findForeign(row).size > 0).length).toBeGreaterThan(100);
    for (const operation of operations) {
      const [mine = {}] = await thingsFor(operation, own);
      // The first ones are of different providers, with jobs of different statuses.
      const theirs = (await thingsFor(operation, foreign)).slice(0, 8);
      for (const request of requestsFor(operation, mine, theirs)) {
        const { status } = await ask(operation, request);
        expect(status, `${operation.id}: ${request.target} ${String(request.body)}`).toBeLessThan(500);
        if (operation.isOperatorOnly) expect(status, operation.id).toBe(403);
      }
    }
    expect(await notMine()).toEqual(before);
  });
});
