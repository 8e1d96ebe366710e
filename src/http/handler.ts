import type { Syncline } from '../index.ts';
import { createLogger } from '../platform/log.ts';
import { version } from '../platform/version.inline.ts';
import { createApp } from './app.ts';
import { loadDashboard } from './assets.ts';
import type { Bindings } from './bindings.ts';
import { checkHandlerOptions, type HandlerOptions } from './handler-options.ts';

export type BoundHandler = (request: Request, bindings: Bindings) => Promise<Response>;

export function createBoundHandler(syncline: Syncline, options: HandlerOptions = {}): BoundHandler {
  checkHandlerOptions(syncline, options);
  const { dashboard = true, logger, clientAddress, ...rest } = options;
  const log =
    logger ??
    createLogger({ level: syncline.config.log.level, readable: process.stdout.isTTY, to: 'stdout' });
  const app = createApp({
    ...rest,
    syncline,
    log,
    version,
    dashboard: dashboard ? loadDashboard : undefined,
  });
  return async (request, bindings) => {
    const socket = clientAddress
      ? { ...bindings.socket, remoteAddress: clientAddress(request) }
      : bindings.socket;
    return app.fetch(request, { ...bindings, socket });
  };
}

/**
 * The API and the dashboard as a function from a Web-standard `Request` to its `Response`, for any server.
 * `syncline/hono`, `syncline/express`, `syncline/fastify` and `syncline/next` adapt it.
 *
 * ```ts
 * import { createSyncline } from 'syncline';
 * import { createHandler } from 'syncline/web';
 *
 * const syncline = createSyncline({ database: process.env.DATABASE_URL });
 * const handler = createHandler(syncline, { basePath: '/admin/sync' });
 * const response = await handler(new Request('https://app.example/admin/sync/healthz'));
 * ```
 */
export function createHandler(
  syncline: Syncline,
  options?: HandlerOptions,
): (request: Request) => Promise<Response> {
  const handle = createBoundHandler(syncline, options);
  return (request) => handle(request, bodyState(request));
}

/** A middleware may have read it. */
export function bodyState({ method, bodyUsed }: Request): Pick<Bindings, 'body'> {
  return method !== 'GET' && method !== 'HEAD' && bodyUsed ? { body: 'lost' } : {};
}
