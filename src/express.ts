import type { ServerResponse } from 'node:http';
import {
  createBoundHandler,
  type HandlerOptions,
  nodeListener,
  type ParsedRequest,
  restoreBody,
} from './http/index.ts';
import type { Syncline } from './index.ts';

export type { Authenticate, HandlerOptions } from './http/index.ts';
export type { Caller } from './index.ts';

/** What the middleware reads of an Express request. */
export interface ExpressRequest extends ParsedRequest {
  baseUrl?: string;
  originalUrl?: string;
}

export type ExpressHandler = (
  request: ExpressRequest,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * The API and the dashboard as middleware of Express, or of any server on Node's `http`. Mount it before body
 * parsers: webhook signatures cover the raw body.
 *
 * ```ts
 * import express from 'express';
 * import { createSyncline } from 'syncline';
 * import { createHandler } from 'syncline/express';
 *
 * const syncline = createSyncline({ database: process.env.DATABASE_URL });
 * const app = express();
 * app.use('/admin/sync', createHandler(syncline));
 * app.use(express.json());
 * app.listen(3000);
 * ```
 */
export function createHandler(syncline: Syncline, options?: HandlerOptions): ExpressHandler {
  const handle = createBoundHandler(syncline, options);
  const listener = nodeListener((received, bindings, incoming: ExpressRequest) => {
    const { request, body } = restoreBody(received, incoming);
    return handle(request, { ...bindings, mountPath: incoming.baseUrl, body });
  });
  return (incoming, outgoing, next) => {
    // Express strips the mount path.
    incoming.url = incoming.originalUrl ?? incoming.url;
    listener(incoming, outgoing).catch((error: unknown) => next?.(error));
  };
}
