import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { startServer } from '../../src/http/server.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { faultsOf } from '../http/answer-faults.ts';
import { generateRequest, type Known } from '../http/generated-requests.ts';
import { cursorsOf, listOf } from '../http/named-things.ts';
import { type Document, type Operation, operationsOf } from '../http/openapi-operations.ts';
import { type Finder, finderOf } from '../http/secrets-of.ts';
import { type Belongings, makeWorld, type World, work } from '../http/tenant-world.ts';
import { type Wire, type WireRequest, wireTo } from '../http/wire.ts';
import { silent, useDatabase } from '../support/database.ts';
import { forEachConcurrently } from '../support/worker.ts';
import { fuzzing, inRounds, timeoutMs } from './fuzz-rounds.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const fuzz = fuzzing('requests', 1000, 500);
const concurrency = 16;
const feed = '/v1/signals/feed';
let world: World;
let wire: Wire;
let closeServer: () => Promise<void>;
let operations: Operation[];
let own: Belongings;
let foreign: Belongings;
let findForeign: Finder;
let cursors: Known['cursors'];

beforeAll(async () => {
  world = await makeWorld(database);
  [own, foreign] = world.tenants as [Belongings, Belongings];
  const app = createApp({ syncline: world.engine, log: silent, version: 'test', live: { pulseMs: 40 } });
  const server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  closeServer = server.close;
  wire = wireTo(server.url);
  const { text } = await wire.send({ method: 'GET', target: '/openapi.json' });
  operations = operationsOf(JSON.parse(text) as Document);
  findForeign = await finderOf(database, foreign, own);
  cursors = await bothCursors();
}, 600_000);
afterAll(async () => {
  wire?.close();
  await closeServer?.();
  await world?.close();
});

/** For both tenants, but of the feed only own ones, because consumers return their position. */
async function bothCursors(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  const lists = operations.filter((operation) => listOf(operations, operation) === operation);
  for (const list of lists.filter(({ isOperatorOnly }) => !isOperatorOnly))
    for (const { key, things } of list.path === feed ? [own] : [own, foreign])
      found[list.path] = [
        ...(found[list.path] ?? []),
        ...(await cursorsOf(wire, [key], list, things[0] ?? {})),
      ];
  return Object.fromEntries(Object.entries(found).filter(([, listCursors]) => listCursors.length > 0));
}

async function collectKnown(): Promise<Known> {
  const names = ['tenants', 'jobs', 'signals', 'credentials', 'providers', 'kinds', 'searches'];
  const things = Object.fromEntries(
    names.map((name) => [
      name,
      [own, foreign].flatMap((owner) => owner.things.map((thing) => thing[name] ?? '')),
    ]),
  );
  const connections = await database.sql<{ id: string }>(
    'SELECT id FROM connections ORDER BY random() LIMIT 200',
  );
  // Only foreign keys: the caller must not revoke its own.
  const keys = foreign.things.map((thing) => thing['keys'] ?? '');
  const headers = { authorization: `Bearer ${own.key}` };
  return {
    things: {
      ...things,
      connections: [
        ...connections.map(({ id }) => id),
        ...foreign.things.map((thing) => thing['connections'] ?? ''),
      ],
      keys,
      // Only own consumers: moving an unknown consumer creates it.
      consumers: own.things.map((thing) => thing['consumers'] ?? ''),
      places: ['beginning', 'latest', ...(cursors[feed] ?? [])],
      secrets: [own.key],
    },
    cursors,
    callers: [...Array.from({ length: 30 }, () => headers), {}],
  };
}

/** The target also percent-decoded. */
const textOf = ({ target, headers, body }: WireRequest) =>
  `${target} ${target.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))} ${JSON.stringify(headers)} ${String(body ?? '')}`;

async function faultsIn(request: WireRequest): Promise<string[]> {
  const answer = await wire.send(request).catch((error: Error) => error.message);
  if (typeof answer === 'string') return [answer];
  const received = findForeign(`${JSON.stringify(answer.headers)} ${answer.text}`);
  const sent = findForeign(textOf(request));
  const leaked = [...received].filter((text) => !sent.has(text));
  return [
    ...faultsOf(request.method, answer, [own.key, foreign.key, foreign.webhookSecret, database.url]),
    ...leaked.map((text) => `leaks data of another tenant: ${text}`),
  ];
}

describe('robustness: requests of a tenant get well-formed responses without data of another', () => {
  it(`robustness: ${fuzz.count} generated requests, half of them for objects of another tenant, cause no fault`, {
    timeout: timeoutMs(fuzz),
  }, async () => {
    const foreignConnections = async () =>
      database.sql('SELECT id, status, metadata, config FROM connections WHERE tenant_id = $1 ORDER BY id', [
        foreign.tenantId,
      ]);
    const before = await foreignConnections();
    await inRounds(fuzz, async (chance, size) => {
      await refill();
      const known = await collectKnown();
      const requests = Array.from({ length: size }, () => generateRequest(chance, operations, known));
      const faults: string[] = [];
      await forEachConcurrently(concurrency, requests, async (request) => {
        const shown = `${request.method} ${request.target.slice(0, 600)} ${String(request.body ?? '').slice(0, 600)}`;
        faults.push(...(await faultsIn(request)).map((fault) => `${shown} → ${fault}`));
      });
      return faults;
    });
    expect(await foreignConnections()).toEqual(before);
    expect((await wire.send({ method: 'GET', target: '/healthz' })).status).toBe(200);
    await stillSyncs(database);
  });
});

/** Replaces connections that earlier requests deleted. */
async function refill(): Promise<void> {
  const { tenantId, marker } = own;
  const view = world.engine.as({ tenantId, actor: 'test' });
  for (let i = 0; i < 10; i++) {
    const { id } = await view.connections.create({ tenantId, provider: 'steady', config: { marker } });
    await view.connections.trigger(id);
  }
  await work(database, 1);
}
