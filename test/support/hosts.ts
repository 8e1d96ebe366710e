import { cpSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import express, { type RequestHandler } from 'express';
import Fastify, { type FastifyInstance } from 'fastify';
import { Hono } from 'hono';
import { createHandler as createExpressHandler } from '../../src/express.ts';
import { createPlugin } from '../../src/fastify.ts';
import { createHandler as createHonoHandler } from '../../src/hono.ts';
import type { Syncline } from '../../src/index.ts';
import { createRouteHandlers, type RouteHandlers } from '../../src/next.ts';
import { createHandler, type HandlerOptions } from '../../src/web.ts';
import { cleanUpAfterEach } from './cleanup.ts';

/** Mounts Syncline at `/admin/sync` in an application that answers `/own` itself; returns its URL. */
export type Host = (syncline: Syncline, options?: HandlerOptions) => Promise<string>;

export const mountPath = '/admin/sync';
const own = 'of the application';

const closings: (() => unknown)[] = [];
cleanUpAfterEach(() => Promise.all(closings.splice(0).map((close) => close())));

export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serveFetch = (fetch: (request: Request, env?: object) => Response | Promise<Response>) =>
  serve((incoming, outgoing) => {
    void getRequestListener(fetch, { overrideGlobalObjects: false })(incoming, outgoing);
  });

const honoApp = (create = () => new Hono()) => create().get('/own', (c) => c.text(own));

export const hono: Host = (syncline, options) => {
  const app = honoApp();
  app.all(`${mountPath}/*`, createHonoHandler(syncline, options));
  return serveFetch(app.fetch);
};

export const mountedHono: Host = (syncline, options) => {
  const app = honoApp();
  app.mount(mountPath, createHonoHandler(syncline, { basePath: mountPath, ...options }));
  return serveFetch(app.fetch);
};

/** Its classes differ from those of the copy that Syncline uses. */
export const otherHono: Host = async (syncline, options) => {
  const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
  const { version } = JSON.parse(readFileSync(join(modules, 'hono/package.json'), 'utf8'));
  const folder = join(modules, `.cache/hono-${version}`);
  if (!existsSync(folder)) cpSync(join(modules, 'hono'), folder, { recursive: true });
  const other = (await import(pathToFileURL(join(folder, 'dist/index.js')).href)) as { Hono: typeof Hono };
  if (other.Hono === Hono) throw new Error('The copy of Hono is not another module.');
  const app = honoApp(() => new other.Hono());
  app.all(`${mountPath}/*`, createHonoHandler(syncline, options));
  return serveFetch(app.fetch);
};

/** With middleware in front of Syncline. */
export const expressBehind =
  (...before: RequestHandler[]): Host =>
  (syncline, options) => {
    const app = express();
    app.get('/own', (_request, response) => void response.send(own));
    for (const middleware of before) app.use(middleware);
    app.use(mountPath, createExpressHandler(syncline, options));
    return serve(app);
  };

export const fastify: Host = async (syncline, options) => {
  const app: FastifyInstance = Fastify({ forceCloseConnections: true });
  closings.push(() => app.close());
  app.get('/own', () => own);
  await app.register(createPlugin(syncline, options), { prefix: mountPath });
  return app.listen({ port: 0, host: '127.0.0.1' });
};

/** Calls the route handlers as Next.js does for `app/admin/sync/[[...path]]/route.ts`. */
export const next: Host = (syncline, options) => {
  const routes = createRouteHandlers(() => syncline, options);
  return serveFetch((request) => {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith(mountPath)) return new Response(own);
    const path = pathname.slice(mountPath.length).split('/').filter(Boolean);
    const params = Promise.resolve(path.length > 0 ? { path } : {});
    return routes[request.method as keyof RouteHandlers](request, { params });
  });
};

export const web: Host = (syncline, options) => {
  const handle = createHandler(syncline, { basePath: mountPath, ...options });
  return serveFetch((request) =>
    new URL(request.url).pathname === '/own' ? new Response(own) : handle(request),
  );
};
