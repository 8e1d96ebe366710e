import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useProject } from './support/package.ts';
import { startProcess } from './support/process.ts';

const project = useProject('packed');

const program = `
import { type Caller, type Connection, connectionJson, createSyncline, defineConfig, type Page, type SynclineApi } from 'syncline';
import { type Connector, createHttp, defineConnector, type SyncContext } from 'syncline/connector';
import * as connectors from 'syncline/connectors';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { createHandler as createExpressHandler } from 'syncline/express';
import { createPlugin } from 'syncline/fastify';
import { createHandler as createHonoHandler } from 'syncline/hono';
import { createRouteHandlers } from 'syncline/next';
import { type Authenticate, createHandler, type HandlerOptions } from 'syncline/web';
import { connectInMemory, type CrashReport, crashTest, formatCrashReport, type Replay, recordTraffic, replayTraffic } from 'syncline/testing';
import { z } from 'zod';

const typed = defineConnector({
  provider: 'typed',
  name: 'Typed',
  configSchema: z.object({ project: z.string() }),
  cursorSchema: z.object({ after: z.number() }),
  sync: async (context) => {
    const project: string = context.connection.config.project;
    const after: number | undefined = context.cursor?.after;
    const { data } = await createHttp(context, { baseUrl: project }).get('/', { schema: z.object({ n: z.number() }) });
    return { signals: [], nextCursor: { after: (after ?? 0) + data.n } };
  },
});
const isConnector: Connector = typed;
const replay: Replay = replayTraffic('file');
const report: Promise<CrashReport> = crashTest(() => typed, { fetch: replay, reset: replay.reset });
const status: 'active' | 'needs_auth' = connectInMemory(typed, { fetch: recordTraffic('file') }).status;
export const used = [isConnector, report.then(formatCrashReport), status, connectors, createSyncline, defineConfig];
export type Context = SyncContext;

const caller: Caller = { actor: 'me' };
const api: SynclineApi = createSyncline().as(caller);
const page: Promise<Page<Connection>> = api.connections.list({ tenantId: 'id' });
export const json: Promise<string[]> = page.then(({ items }) => items.map((item) => connectionJson(item).created_at));
export const actor: string = api.caller.actor;

const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  configSchema: z.object({ project: z.string() }),
  signalSchemas: { 'issue.opened': z.object({ title: z.string() }), 'issue.closed': z.object({ at: z.date() }) },
  sync: async () => ({ signals: [{ kind: 'issue.opened', occurredAt: new Date(), payload: { title: 'a' } }] }),
});
const syncline = createSyncline(defineConfig({ connectors: [tracker, connectors.github()] }));
void syncline.connections.create({ tenantId: 'id', provider: 'tracker', config: { project: 'apollo' } });
void syncline.connections.create({ tenantId: 'id', provider: 'github', config: { repositories: ['acme/app'] } });
// @ts-expect-error: not one of the connectors
void syncline.connections.create({ tenantId: 'id', provider: 'gitub', config: { repositories: ['acme/app'] } });
// @ts-expect-error: not the config of this connector
void syncline.connections.create({ tenantId: 'id', provider: 'github', config: { project: 'apollo' } });
for await (const signal of syncline.signals.feed({ consumer: 'search-index' }))
  if (signal.provider === 'tracker' && signal.kind === 'issue.opened') signal.payload.title.toUpperCase();
for await (const signal of syncline.signals.feed())
  // @ts-expect-error: of another kind
  if (signal.provider === 'tracker' && signal.kind === 'issue.closed') signal.payload.title;
const authenticate: Authenticate = (request) => (request.headers.has('cookie') ? caller : undefined);
const options: HandlerOptions = { authenticate, basePath: '/admin/sync' };
new Hono().all('/admin/sync/*', createHonoHandler(syncline, options)).mount('/sync', createHonoHandler(syncline));
express().use('/admin/sync', createExpressHandler(syncline, options));
void Fastify().register(createPlugin(syncline, options), { prefix: '/admin/sync' });
type Route = (request: Request, context: { params: Promise<{ path?: string[] }> }) => Promise<Response>;
export const GET: Route = createRouteHandlers(() => syncline, options).GET;
export const handler: (request: Request) => Promise<Response> = createHandler(syncline, options);
// @ts-expect-error: unknown option
createHandler(syncline, { prefix: '/admin/sync' });

// @ts-expect-error: the cursor does not match its schema
defineConnector({ provider: 'p', name: 'P', cursorSchema: z.object({ after: z.number() }), sync: async () => ({ signals: [], nextCursor: { after: 'x' } }) });
// @ts-expect-error: unknown option
void crashTest(typed, { expects: 7 });
`;

/** The public API: editors show these declarations. */
const interfaces = [
  'Access',
  'AuditApi',
  'AuthorizationsApi',
  'BudgetsApi',
  'ConnectionsApi',
  'ConsumersApi',
  'CredentialsApi',
  'Engine',
  'JobsApi',
  'KeysApi',
  'ProvidersApi',
  'SignalsApi',
  'StatsApi',
  'Syncline',
  'SynclineApi',
  'TenantsApi',
  'WebhooksApi',
];

describe('the published package', () => {
  it('types: the public API is declared as interfaces, not inferred', () => {
    const dist = join(project.folder, 'node_modules/syncline/dist');
    const declarations = readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.d.ts'))
      .map((file) => readFileSync(join(dist, file), 'utf8'))
      .join('\n');
    const declared = interfaces.filter((name) =>
      new RegExp(`^export interface ${name}(<[^>]+>)? (extends [^{]+)?\\{`, 'm').test(declarations),
    );
    expect(declared).toEqual(interfaces);
    const entry = readFileSync(join(dist, 'index.d.ts'), 'utf8');
    expect(interfaces.filter((name) => new RegExp(`\\b${name}\\b`).test(entry))).toEqual(interfaces);
  });

  it('types: no declaration of an entry point names a type of Hono or another framework', () => {
    const own = join(project.folder, 'node_modules/syncline');
    const { exports } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
    const entries = Object.values<{ types?: string }>(exports).flatMap(({ types }) => types ?? []);
    const reached = new Set(entries.map((path) => join(own, path)));
    const packages = new Set<string>();
    for (const file of reached) {
      const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
      for (const [, name = ''] of code.matchAll(/\b(?:from |import\()["']([^"']+)["']/g))
        if (name.startsWith('.')) reached.add(join(file, '..', name.replace(/\.[jt]s$/, '.d.ts')));
        else packages.add(name);
    }
    expect(reached.size).toBeGreaterThan(50);
    const frameworks = [...packages].filter((name) => /hono|express|fastify|^next\b/.test(name));
    expect(frameworks).toEqual([]);
  });

  it('types: every entry point resolves in a strict nodenext program', async () => {
    writeFileSync(join(project.folder, 'package.json'), '{"name":"consumer","type":"module","private":true}');
    writeFileSync(
      join(project.folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          module: 'nodenext',
          moduleResolution: 'nodenext',
          target: 'es2023',
          types: ['node'],
          skipLibCheck: true,
          noEmit: true,
        },
        files: ['program.ts'],
      }),
    );
    writeFileSync(join(project.folder, 'program.ts'), program);
    const checked = await startProcess('npx', ['tsc', '-p', '.'], {
      cwd: project.folder,
      env: { PATH: project.path() },
    }).finished;
    expect(checked).toMatchObject({ code: 0, stdout: '' });
  });
});
