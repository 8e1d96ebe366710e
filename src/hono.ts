import { bodyState, createBoundHandler, type HandlerOptions, matchedPrefix } from './http/index.ts';
import type { Syncline } from './index.ts';
import { isObject } from './values/is-object.ts';

export type { Authenticate, HandlerOptions } from './http/index.ts';
export type { Caller } from './index.ts';

/** What the handler reads: any version of Hono has it. */
export interface HonoContext {
  req: { raw: Request; routePath?: string };
  /** `@hono/node-server` adds the Node request. */
  env?: unknown;
}

/** Also for `app.mount`, which passes request and environment. */
export type HonoHandler = (input: HonoContext | Request, env?: unknown) => Promise<Response>;

/**
 * The API and the dashboard in a Hono application.
 *
 * ```ts
 * import { serve } from '@hono/node-server';
 * import { Hono } from 'hono';
 * import { createSyncline } from 'syncline';
 * import { createHandler } from 'syncline/hono';
 *
 * const syncline = createSyncline({ database: process.env.DATABASE_URL });
 * const app = new Hono();
 * app.all('/admin/sync/*', createHandler(syncline));
 * serve(app);
 * ```
 */
export function createHandler(syncline: Syncline, options?: HandlerOptions): HonoHandler {
  const handle = createBoundHandler(syncline, options);
  return (input, env) => {
    if (!('req' in input)) return handle(input, { ...bodyState(input), ...nodeParts(env) });
    const { raw, routePath } = input.req;
    const mountPath = routePath === undefined ? undefined : matchedPrefix(raw.url, routePath);
    return handle(raw, { ...bodyState(raw), ...nodeParts(input.env), mountPath });
  };
}

function nodeParts(env: unknown) {
  const incoming = isObject(env) ? env['incoming'] : undefined;
  const socket = isObject(incoming) ? incoming['socket'] : undefined;
  return isObject(socket) ? { socket } : {};
}
