import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { type Refusals, recordRefusals } from '../../src/http/refusals.ts';
import { startServer } from '../../src/http/server.ts';
import { createSyncline, type Syncline } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { testPorts } from '../support/clock.ts';
import { silent, useDatabase } from '../support/database.ts';
import { sampled, sized } from '../support/size.ts';
import { asGithub } from '../webhooks/webhook-connector.ts';
import {
  buildRequest,
  cursorsOf,
  listOf,
  nameFields,
  namingFields,
  requestsFor,
  requiredNamingFields,
  sortBySideEffect,
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
/** The calling tenant, and the one whose data must not appear. */
let own: Belongings;
let foreign: Belongings;
let findForeign: Finder;

const appOf = (syncline: Syncline, refusals?: Refusals) =>
  createApp({
    syncline,
    log: silent,
    version: 'test',
    metrics: () => 'metrics',
    live: { pulseMs: 40 },
    refusals,
  });

async function serve(syncline = world.engine) {
  const refusals = recordRefusals(syncline, silent);
  const app = appOf(syncline, refusals);
  const server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  const connected = wireTo(server.url);
  const close = async () => {
    connected.close();
    await server.close();
    // Otherwise the last count is written up to a minute later, during another test.
    await refusals.close();
  };
  return { wire: connected, close };
}

beforeAll(async () => {
  world = await makeWorld(database);
  ({ wire, close: closeServer } = await serve());
  const { text } = await wire.send({ method: 'GET', target: '/openapi.json' });
  operations = sortBySideEffect(operationsOf(JSON.parse(text) as Document));
  [own, foreign] = (await Promise.all(world.tenants.map(withPlaces))) as [Belongings, Belongings];
  findForeign = await finderOf(database, foreign, own);
});
afterAll(async () => {
  await closeServer?.();
  await world?.close();
});

/** Adds feed cursors as their owner receives them. */
async function withPlaces(owner: Belongings): Promise<Belongings> {
  const feed = operations.find(({ path }) => path === '/v1/signals/feed') as Operation;
  const places = await cursorsOf(wire, [owner.key], feed, owner.things[0] ?? {});
  const things = owner.things.map((thing, i) => ({ ...thing, places: places[i % places.length] ?? '' }));
  return { ...owner, things };
}

/** The owner's data with cursors of the operation's list. */
async function thingsFor(operation: Operation, owner: Belongings): Promise<Thing[]> {
  const hasCursor = operation.fields.some((field) => nounOf(operation, field) === 'cursors');
  const list = listOf(operations, operation);
  const keys = [owner.key, world.operatorKey];
  const cursors = hasCursor && list ? await cursorsOf(wire, keys, list, owner.things[0] ?? {}) : [];
  // A foreign key would authenticate as the other tenant, so the own key is used.
  const secrets = own.key;
  return owner.things.map((thing, i) => ({ ...thing, secrets, cursors: cursors[i % cursors.length] ?? '' }));
}

const isSuccess = ({ status }: Answer) => status >= 200 && status < 300;

/** Signs the body with the own webhook secret; other routes ignore the header. */
const signed = (request: WireRequest): WireRequest => ({
  ...request,
  headers: { ...asGithub(own.webhookSecret, request.body ?? ''), ...request.headers },
});

/** Sends a request with the own key and expects no data of the other tenant in the response. */
async function sendAsOwner(operation: Operation, request: WireRequest): Promise<Answer> {
  const answer = await wire.send(signed(withKey(own.key, request)));
  const { status, headers, text } = answer;
  const { method, target } = request;
  const sent = `${method} ${target} ${JSON.stringify(request.headers)} ${String(request.body)}`;
  const where = `${operation.id}: ${sent} → ${status} ${text.slice(0, 500)}`;
  const inRequest = findForeign(`${sent} ${decodeURIComponent(request.target)}`);
  const inResponse = findForeign(`${JSON.stringify(headers)} ${text}`);
  const leaked = [...inResponse].filter((value) => !inRequest.has(value));
  expect(leaked, `foreign data leaked by ${where}`).toEqual([]);
  // Feed cursors are positions, not data; a response may repeat those of the request.
  const places = foreign.things.map((thing) => thing['places'] ?? '');
  const others = places.reduce((rest, place) => rest.replaceAll(place, 'there'), text);
  // PUT creates an object of the caller, also under a name that another tenant uses.
  const isCreated = request.method === 'PUT' && isSuccess(answer);
  if (findForeign(others).size > 0 && !isCreated) {
    expect([400, 403, 404], `foreign data repeated by ${where}`).toContain(status);
    expect(headers['content-type'], where).toBe('application/problem+json');
  }
  return answer;
}

/** Tries the own data until every naming field has worked once; returns the fields that never did. */
async function findFailingFields(operation: Operation, start: number): Promise<string[]> {
  const needed = requiredNamingFields(operation);
  const untested = new Set<Field | undefined>([undefined, ...namingFields(operation)]);
  const things = await thingsFor(operation, own);
  const [shape = new Map()] = shapesOf(operation);
  // Each operation starts at another object, so that one does not pause or cancel what the next needs.
  for (const thing of [...things.slice(start), ...things.slice(0, start)])
    for (const field of [...untested]) {
      const fields = field === undefined ? needed : [...new Set([...needed, field])];
      const answer = await sendAsOwner(
        operation,
        buildRequest(operation, shape, nameFields(operation, fields, thing)),
      );
      if (isSuccess(answer)) for (const worked of [undefined, ...fields]) untested.delete(worked);
      if (untested.size === 0) return [];
    }
  return [...untested].map(
    (field) => `${operation.id} never worked with ${field?.name ?? 'its required fields'}`,
  );
}

/** The minimal request for an operation, with own data. */
async function minimalRequest(operation: Operation): Promise<WireRequest> {
  const [thing = {}] = await thingsFor(operation, own);
  return buildRequest(operation, new Map(), nameFields(operation, requiredNamingFields(operation), thing));
}

describe('isolation: a tenant reads and changes only its own data', () => {
  it('isolation: every route is in the OpenAPI document, so that none is untested here', () => {
    const described = new Set(
      operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    const served = appOf(world.engine)
      .routes.filter(({ method, path }) => method !== 'ALL' && /^\/v1\b/.test(path))
      .map(({ method, path }) => `${method} ${path}`);
    expect(served.length).toBeGreaterThan(0);
    expect([...new Set(served)].filter((route) => !described.has(route))).toEqual([]);
  });

  it('isolation: without a key, every operation and every unknown path returns 401', async () => {
    for (const operation of operations.filter(({ needsKey }) => needsKey)) {
      const answer = await wire.send(await minimalRequest(operation));
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

  it('isolation: a revoked key gets 401 everywhere, immediately in the process that revoked it', async () => {
    const view = world.engine.as({ tenantId: own.tenantId, actor: `${own.marker}-actor` });
    const { id, key } = await view.keys.create({ name: `${own.marker}-revoked` });
    const me: WireRequest = { method: 'GET', target: '/v1/me' };
    expect((await wire.send(withKey(key, me))).status).toBe(200);
    await wire.send(withKey(own.key, { method: 'DELETE', target: `/v1/keys/${id}` }));
    expect((await wire.send(withKey(key, me))).status).toBe(401);
    const withKeys = operations.filter(({ needsKey }) => needsKey);
    // A new server for every ten operations: after 20 wrong keys, an address gets 429 instead of 401.
    for (let first = 0; first < withKeys.length; first += 10) {
      const fresh = await serve();
      for (const operation of withKeys.slice(first, first + 10)) {
        const answer = await fresh.wire.send(withKey(key, await minimalRequest(operation)));
        expect(answer.status, operation.id).toBe(401);
      }
      await fresh.close();
    }
  });

  it('isolation: every tenant operation works with own ids, names and cursors', async () => {
    const failing: string[] = [];
    // These need a browser; test/credentials/binding.test.ts covers them.
    const byBrowser = ['showConsent', 'startConsent', 'finishAuthorization'];
    for (const [i, operation] of operations.entries())
      if (!operation.isOperatorOnly && !byBrowser.includes(operation.id))
        failing.push(...(await findFailingFields(operation, (i * 3) % own.things.length)));
    expect(failing).toEqual([]);
  });

  it('isolation: activity of another tenant changes no value in any response', async () => {
    // With a fixed clock, only the other tenant's activity could change a response.
    const ports = testPorts(new Date(Date.now() + 90_000).toISOString());
    const frozen = createSyncline({ database: database.url, logger: silent, ports });
    const fresh = await serve(frozen);
    const reads = operations.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1'));
    const readAll = async () => {
      const responses: Record<string, string> = {};
      for (const operation of reads.filter(({ isStream }) => !isStream)) {
        const { status, text } = await fresh.wire.send(withKey(own.key, await minimalRequest(operation)));
        // The end of the feed is shared by all tenants.
        const { next_cursor: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
        responses[operation.id] = `${status} ${JSON.stringify(rest)}`;
      }
      return responses;
    };
    try {
      await work(database, 1);
      // On a busy machine a backoff of this tenant would end before the next call of `work`.
      await database.sql(
        `UPDATE sync_jobs SET retry_after = now() + interval '1 day'
         WHERE tenant_id = $1 AND status = 'queued' AND retry_after IS NOT NULL`,
        [own.tenantId],
      );
      const before = await readAll();
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
      expect(await readAll()).toEqual(before);
    } finally {
      await fresh.close();
      await frozen.stop();
    }
  });

  it('isolation: no operation reads or changes another tenant by its ids, names and cursors', {
    timeout: 600_000,
  }, async () => {
    const isMine = (row: string) => row.includes(own.tenantId) || row.includes(own.marker);
    const notMine = async () =>
      (await allRows(database)).filter((row) => !isMine(row) && !row.startsWith('processes ')).sort();
    findForeign = await finderOf(database, foreign, own);
    // Written every five minutes; on a busy machine this test takes longer.
    await database.sql(`UPDATE api_keys SET last_used_at = now() + interval '1 day'`);
    const before = await notMine();
    expect(before.filter((row) => findForeign(row).size > 0).length).toBeGreaterThan(100);
    for (const operation of operations) {
      const [mine = {}] = await thingsFor(operation, own);
      // The first ones have different providers and job statuses.
      const theirs = (await thingsFor(operation, foreign)).slice(0, sized(8, 1));
      for (const request of sampled(requestsFor(operation, mine, theirs), 4)) {
        const { status } = await sendAsOwner(operation, request);
        expect(status, `${operation.id}: ${request.target} ${String(request.body)}`).toBeLessThan(500);
        if (operation.isOperatorOnly) expect(status, operation.id).toBe(403);
      }
    }
    expect(await notMine()).toEqual(before);
  });
});
