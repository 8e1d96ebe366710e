import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What the application's server knows about a request. */
export interface Bindings {
  socket?: Partial<Pick<Socket, 'remoteAddress' | 'localAddress' | 'localPort'>> | undefined;
  outgoing?: ServerResponse | undefined;
  /** Aborted when the server stops. */
  stopping?: AbortSignal | undefined;
  /** The path prefix that the router matched. */
  mountPath?: string | undefined;
  /** `parsed`: a body parser's result as JSON. `lost`: nothing is left to read. */
  body?: 'parsed' | 'lost' | undefined;
}
