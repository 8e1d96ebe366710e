import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What the server of the application states about a request; each may be unknown. */
export interface Bindings {
  socket?: Partial<Pick<Socket, 'remoteAddress' | 'localAddress' | 'localPort'>> | undefined;
  outgoing?: ServerResponse | undefined;
  /** Aborted when the server stops. */
  stopping?: AbortSignal | undefined;
  /** The prefix of the request's path that the application's router matched. */
  mountPath?: string | undefined;
  /** A body parser has read it: `parsed` is its result as JSON, `lost` leaves nothing to read. */
  body?: 'parsed' | 'lost' | undefined;
}
