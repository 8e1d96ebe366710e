import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Syncline } from '../index.ts';
import { createLogger } from '../platform/log.ts';
import { createApp } from './app.ts';
import type { Authenticate } from './context.ts';
import { dashboardFolder, ownVersion } from './package-info.ts';

export interface HandlerOptions {
  /** If not the mount path: with `app.mount`, or behind a proxy that strips a prefix. */
  basePath?: string;
  /** Default: true. */
  dashboard?: boolean;
  /**
   * Authenticates requests with your application's session; they have no body. Undefined: Syncline's own
   * keys and sessions apply. Without `tenantId` the caller is an operator (all tenants). Requests other
   * than GET need the header `x-syncline-request: 1`, which the dashboard sends.
   */
  authenticate?: Authenticate;
  /** Abort it when your server stops. */
  signal?: AbortSignal;
  /** Default: standard output. */
  logger?: Logger;
}

/**
 * The API and the dashboard as a Hono app to mount in your own server. It detects its mount path.
 *
 * ```ts
 * import { serve } from '@hono/node-server';
 * import { Hono } from 'hono';
 * import { createSyncline } from 'syncline';
 * import { synclineHandler } from 'syncline/hono';
 *
 * const syncline = createSyncline({ database: process.env.DATABASE_URL });
 * const app = new Hono();
 * app.route(
 *   '/admin/sync',
 *   synclineHandler(syncline, {
 *     authenticate: async (request) => {
 *       const user = await sessionOf(request); // yours
 *       return user?.isAdmin ? { actor: user.email } : undefined;
 *     },
 *   }),
 * );
 * serve(app);
 * ```
 */
export function synclineHandler(syncline: Syncline, options: HandlerOptions = {}): Hono {
  const { dashboard = true, logger, ...rest } = options;
  const log =
    logger ??
    createLogger({ level: syncline.config.log.level, readable: process.stdout.isTTY, to: 'stdout' });
  const app = createApp({
    ...rest,
    syncline,
    log,
    version: ownVersion(),
    dashboard: dashboard ? dashboardFolder : undefined,
  });
  // Keeps the routes out of the host's OpenAPI document.
  return new Hono().route('/', app) as unknown as Hono;
}
