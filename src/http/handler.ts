import { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Syncline } from '../syncline.ts';
import { createLogger } from '../telemetry/index.ts';
import { createApp } from './app.ts';
import type { Authenticate } from './context.ts';
import { dashboardFolder, ownVersion } from './package-info.ts';

export interface HandlerOptions {
  /**
   * Where browsers find it. Needed only where that differs from where it is mounted: with `app.mount`, in another
   * framework, or behind a proxy that cuts off a prefix.
   */
  basePath?: string;
  /** Whether the dashboard is served, too. It is unless this is false. */
  dashboard?: boolean;
  /**
   * Says who somebody is, by your own means: a session of your application, say. Undefined: nobody you know; then API
   * keys and sessions of Syncline count, as they do without this. It is not given the body of the request.
   *
   * Whoever has no `tenantId` sees and may do everything. As with any session, requests other than GET need the header
   * `x-syncline-request: 1`, which the dashboard sends.
   */
  authenticate?: Authenticate;
  /** Ends live streams and long polls when your server stops. */
  signal?: AbortSignal;
  /** Where unexpected errors are written; standard output unless given. */
  logger?: Logger;
}

/**
 * The API and the dashboard, to be mounted in a server of your own. It knows by itself under which path.
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
  // Wrapped, so that its routes do not enter an OpenAPI document of the application around it.
  return new Hono().route('/', app) as unknown as Hono;
}
