import { invalidArgument } from './contract/errors.ts';
import {
  type BoundHandler,
  bodyState,
  createBoundHandler,
  type HandlerOptions,
  pathAbove,
} from './http/index.ts';
import type { Syncline } from './index.ts';
import { show } from './values/arguments.ts';

export type { Authenticate, HandlerOptions } from './http/index.ts';
export type { Caller } from './index.ts';

type Params = Record<string, string | string[] | undefined>;

export type RouteHandler = (request: Request, context: { params: Promise<Params> }) => Promise<Response>;

export interface RouteHandlers {
  GET: RouteHandler;
  HEAD: RouteHandler;
  POST: RouteHandler;
  PUT: RouteHandler;
  PATCH: RouteHandler;
  DELETE: RouteHandler;
}

/**
 * The API and the dashboard as route handlers of the Next.js App Router, in an optional catch-all route.
 *
 * ```ts
 * // app/admin/sync/[[...path]]/route.ts
 * import { createRouteHandlers } from 'syncline/next';
 * import { getSyncline } from '../../../../lib/syncline';
 *
 * export const { GET, HEAD, POST, PUT, PATCH, DELETE } = createRouteHandlers(getSyncline);
 * ```
 *
 * `getSyncline` is called on the first request: `next build` loads the route without your environment.
 */
export function createRouteHandlers(getSyncline: () => Syncline, options?: HandlerOptions): RouteHandlers {
  if (typeof getSyncline !== 'function')
    throw invalidArgument({
      field: 'getSyncline',
      expected: 'a function that returns an instance made with createSyncline',
      value: show(getSyncline),
    });
  let handle: BoundHandler | undefined;
  const route: RouteHandler = async (request, { params }) => {
    handle ??= createBoundHandler(getSyncline(), options);
    const rest = Object.values(await params).find(Array.isArray) ?? [];
    return handle(request, { ...bodyState(request), mountPath: pathAbove(request.url, rest.length) });
  };
  return { GET: route, HEAD: route, POST: route, PUT: route, PATCH: route, DELETE: route };
}
