import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBoundHandler, type HandlerOptions, matchedPrefix, nodeListener } from './http/index.ts';
import type { Syncline } from './index.ts';

export type { Authenticate, HandlerOptions } from './http/index.ts';
export type { Caller } from './index.ts';

/** The part of a Fastify instance that the plugin calls. */
export interface FastifyInstance {
  readonly prefix: string;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    parser: (request: never, payload: never, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  all(
    path: string,
    handler: (
      request: { raw: IncomingMessage },
      reply: { raw: ServerResponse; hijack(): unknown },
    ) => unknown,
  ): unknown;
}

export type FastifyPlugin = (
  instance: FastifyInstance,
  options: unknown,
  done: (error?: Error) => void,
) => void;

/**
 * The API and the dashboard as a Fastify plugin. It reads bodies itself, without the application's parsers.
 *
 * ```ts
 * import Fastify from 'fastify';
 * import { createSyncline } from 'syncline';
 * import { createPlugin } from 'syncline/fastify';
 *
 * const syncline = createSyncline({ database: process.env.DATABASE_URL });
 * const app = Fastify();
 * await app.register(createPlugin(syncline), { prefix: '/admin/sync' });
 * await app.listen({ port: 3000 });
 * ```
 */
export function createPlugin(syncline: Syncline, options?: HandlerOptions): FastifyPlugin {
  const handle = createBoundHandler(syncline, options);
  return (instance, _options, done) => {
    const listener = nodeListener((request, bindings) =>
      handle(request, { ...bindings, mountPath: matchedPrefix(request.url, `${instance.prefix}/*`) }),
    );
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    for (const path of ['/', '/*'])
      instance.all(path, (request, reply) => {
        reply.hijack();
        return listener(request.raw, reply.raw);
      });
    done();
  };
}
