import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Bindings } from './bindings.ts';
import { Problem } from './problem.ts';
import { securityHeaders } from './security-headers.ts';

/** Of responses that bypass the app. */
export const headers = { ...securityHeaders, 'cache-control': 'no-store' };

export type Answer = (
  request: Request,
  bindings: Bindings,
  incoming: IncomingMessage,
) => Response | Promise<Response>;

export function nodeListener(
  answer: Answer,
  hostname?: string,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  return getRequestListener(
    (request, env) => {
      const { incoming, outgoing } = env as HttpBindings;
      return answer(request, { socket: incoming.socket, outgoing }, incoming);
    },
    {
      ...(hostname !== undefined && { hostname }),
      errorHandler: () =>
        new Problem('INVALID_ARGUMENT', 'The request is malformed.', { headers }).toResponse(),
      overrideGlobalObjects: false,
    },
  );
}
