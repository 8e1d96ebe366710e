import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { hostRule } from '../../src/http/hosts.ts';
import { startServer } from '../../src/http/server.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { faultsOf } from '../http/answer-faults.ts';
import { allRows, type Finder, finderOf } from '../http/secrets-of.ts';
import { type Belongings, makeWorld, type World } from '../http/tenant-world.ts';
import { type Answer, type Wire, type WireRequest, wireTo } from '../http/wire.ts';
import { silent, useDatabase } from '../support/database.ts';
import { bodyCases } from './http-body-cases.ts';
import type { HttpCase, HttpWorld } from './http-case.ts';
import { foreignCases } from './http-foreign-cases.ts';
import { pathCases, queryCases } from './http-query-cases.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
let world: World;
let context: HttpWorld;
let wire: Wire;
let closeServer: () => Promise<void>;
let findForeign: Finder;

beforeAll(async () => {
  world = await makeWorld(database);
  const app = createApp({
    syncline: world.engine,
    log: silent,
    version: 'test',
    metrics: () => 'metrics',
    dashboard: async () => ({ 'index.html': '<!doctype html><head></head>' }),
    hosts: hostRule('127.0.0.1'),
  });
  const server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  closeServer = server.close;
  wire = wireTo(server.url);
  const [own, foreign] = world.tenants as [Belongings, Belongings];
  context = {
    own,
    foreign,
    cookie: await sessionOf(own.key),
    host: new URL(server.url).host,
    cursors: await cursorsOf(own.key),
    foreignCursors: await cursorsOf(foreign.key),
  };
  findForeign = await finderOf(database, foreign, own);
}, 600_000);
afterAll(async () => {
  wire?.close();
  await closeServer?.();
  await world?.close();
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function sessionOf(key: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ key });
  const answer = await wire.send({ method: 'POST', target: '/v1/session', headers, body });
  return answer.headers['set-cookie']?.split(';')[0] ?? '';
}

async function cursorsOf(key: string): Promise<Record<string, string>> {
  const cursors: Record<string, string> = {};
  for (const path of ['/v1/connections', '/v1/jobs', '/v1/credentials', '/v1/signals', '/v1/audit']) {
    const { text } = await wire.send({ method: 'GET', target: `${path}?limit=1`, headers: bearer(key) });
    cursors[path] = (JSON.parse(text) as { next_cursor: string }).next_cursor;
  }
  return cursors;
}

/** All rows except heartbeats, keys, sessions and the audit of rejected keys. */
const stored = async () =>
  (await allRows(database))
    .filter((row) => !/^(processes|schedulers|api_keys|sessions) |,(key|session)\.refused,/.test(row))
    .sort();

function requestOf({ as, build }: HttpCase): WireRequest {
  const request = build(context);
  const credentials =
    as === 'anonymous' ? {} : as === 'session' ? { cookie: context.cookie } : bearer(context.own.key);
  return { ...request, headers: { ...credentials, ...request.headers } };
}

function expectAnswer({ expected: { status, code, body, field } }: HttpCase, answer: Answer): void {
  const isProblem = answer.headers['content-type'] === 'application/problem+json';
  const problem = (isProblem ? JSON.parse(answer.text) : {}) as {
    code?: string;
    errors?: { field: string }[];
  };
  expect({ status: answer.status, code: problem.code }, answer.text.slice(0, 500)).toEqual({ status, code });
  if (body) expect(answer.text).toMatch(body);
  if (field !== undefined) expect(problem.errors?.[0]?.field).toBe(field);
}

const cases = [...queryCases, ...pathCases, ...bodyCases, ...foreignCases];

describe('hostile requests: each gets the expected response and changes nothing', () => {
  /** After the previous case, if that changed nothing. */
  let unchanged: string[] | undefined;

  it.each(cases.map((testCase) => [testCase.name, testCase] as const))(
    'request: gets the expected response: %s',
    async (_name, testCase) => {
      const before = testCase.changes ? [] : (unchanged ?? (await stored()));
      unchanged = undefined;
      const request = requestOf(testCase);
      const answer = await wire.send(request);
      expectAnswer(testCase, answer);
      expect(faultsOf(request.method, answer, [context.own.key, database.url])).toEqual([]);
      const sent = findForeign(`${request.target} ${decodeOrKeep(request.target)} ${String(request.body)}`);
      const leaked = [...findForeign(`${JSON.stringify(answer.headers)} ${answer.text}`)];
      expect(leaked.filter((text) => !sent.has(text))).toEqual([]);
      if (!testCase.changes) {
        unchanged = await stored();
        expect(unchanged).toEqual(before);
      }
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );

  it('request: a healthy connection still syncs afterwards', () => stillSyncs(database));
});

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
