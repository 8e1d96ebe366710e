import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

const browserProgram = `
import { type Connection, createClient, SynclineHttpError } from 'syncline/client';

const client = createClient({ baseUrl: location.origin });
export async function failing(): Promise<Connection[]> {
  try {
    return (await client.get('/v1/connections', { query: { health: 'failing' } })).items;
  } catch (error) {
    if (error instanceof SynclineHttpError && error.code === 'UNAUTHENTICATED') return [];
    throw error;
  }
}
// @ts-expect-error: no such path
void client.get('/v1/connection');
`;

/** Follows static and dynamic imports. */
function filesLoadedBy(entry: string): { files: string[]; packages: string[] } {
  const files = new Set([entry]);
  const packages = new Set<string>();
  for (const file of files)
    for (const [, from, loaded] of readFileSync(file, 'utf8').matchAll(
      /\bfrom ["']([^"']+)["']|\bimport\(["']([^"']+)["']\)/g,
    )) {
      const name = from ?? loaded ?? '';
      if (name.startsWith('.')) files.add(join(dirname(file), name));
      else packages.add(name);
    }
  return { files: [...files], packages: [...packages] };
}

/** The public API: editors show these declarations. */
const interfaces = [
  'Access',
  'AuditApi',
  'BudgetsApi',
  'ConnectionsApi',
  'ConsumersApi',
  'CredentialsApi',
  'DeliveriesApi',
  'Engine',
  'JobsApi',
  'KeysApi',
  'OAuthApi',
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
    const checked = await compile(program, {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types: ['node'],
      skipLibCheck: true,
    });
    expect(checked).toMatchObject({ code: 0, stdout: '' });
  });

  it('client: a browser program needs no types of Node or of dependencies', async () => {
    const checked = await compile(browserProgram, {
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2023', 'dom'],
      types: [],
      skipLibCheck: false,
      listFiles: true,
    });
    expect(checked.code, checked.stdout).toBe(0);
    const packages = new Set(
      [...checked.stdout.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].map(([, name]) => name),
    );
    packages.delete('typescript');
    expect([...packages].filter((name) => !name?.startsWith('@typescript/'))).toEqual(['syncline']);
  });

  it('client: dist/client loads two small chunks and no package', () => {
    const dist = join(project.folder, 'node_modules/syncline/dist');
    const loaded = filesLoadedBy(join(dist, 'client/index.js'));
    expect(loaded.packages).toEqual([]);
    const bytes = loaded.files.reduce((sum, file) => sum + statSync(file).size, 0);
    expect(loaded.files.length).toBeLessThanOrEqual(3);
    expect(bytes).toBeLessThan(24_000);
    const code = loaded.files.map((file) => readFileSync(file, 'utf8')).join();
    expect(code).not.toMatch(/\bprocess\.|\bBuffer\b|node:/);
  });

  /** Compiles a program that has installed the package. */
  function compile(source: string, options: object) {
    writeFileSync(join(project.folder, 'package.json'), '{"name":"consumer","type":"module","private":true}');
    const compilerOptions = {
      ...{ strict: true, exactOptionalPropertyTypes: true, target: 'es2023', noEmit: true },
      ...options,
    };
    writeFileSync(
      join(project.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['program.ts'] }),
    );
    writeFileSync(join(project.folder, 'program.ts'), source);
    return startProcess('npx', ['tsc', '-p', '.'], { cwd: project.folder, env: { PATH: project.path() } })
      .finished;
  }
});
