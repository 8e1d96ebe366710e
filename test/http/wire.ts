import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';

export interface WireRequest {
  method: string;
  /** Path and query, sent as they are. */
  target: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

export interface Wire {
  send(request: WireRequest): Promise<Answer>;
  /** Sends bytes that no client would, and reads until the server closes. */
  sendBytes(bytes: string | Buffer): Promise<string>;
  close(): void;
}

/** Nothing takes this long, on however slow a machine; what does is taken for hanging. */
const maxMs = 30_000;
/** When enough of a stream has been seen: by then it has sent everything that was there. */
const pulsesRead = 3;

/** Talks to a server over few connections that are kept open, and lets nothing be nicer than it is on the wire. */
export function wireTo(url: string): Wire {
  const { hostname: host, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 24 });
  return {
    send: ({ method, target, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const isCounted = body !== undefined && headers['transfer-encoding'] === undefined;
        const length = isCounted ? { 'content-length': String(Buffer.byteLength(body)) } : {};
        const options = { host, port, agent, method, path: target, headers: { ...length, ...headers } };
        let isAnswered = false;
        const sent = httpRequest(options, (response) => {
          isAnswered = true;
          read(method, response).then((text) => {
            const { statusCode = 0, headers: received } = response;
            const flat = Object.entries(received).map(([name, value]) => [name, String(value)]);
            resolve({ status: statusCode, headers: Object.fromEntries(flat), text });
          }, reject);
        });
        sent.setTimeout(maxMs, () => sent.destroy(new Error(`no answer in ${maxMs} ms`)));
        sent.on('error', (cause) => {
          // What could not be read is refused with a body, also where HEAD asked for none: then there is too much of it.
          if (isAnswered && method === 'HEAD') return;
          reject(new Error(`${method} ${target.slice(0, 200)}: ${cause.message}`, { cause }));
        });
        sent.end(body);
      }),
    sendBytes: (bytes) =>
      new Promise((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), host, () => socket.write(bytes));
        socket.setTimeout(maxMs, () => socket.destroy(new Error(`no answer in ${maxMs} ms`)));
        socket.on('data', (data) => {
          text += data.toString('latin1');
        });
        socket.on('close', () => resolve(text));
        socket.on('error', (error: NodeJS.ErrnoException) => {
          // The server need not read to the end what it has refused.
          if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
        });
      }),
    close: () => agent.destroy(),
  };
}

async function read(method: string, response: IncomingMessage): Promise<string> {
  if (method === 'HEAD') {
    response.on('error', () => {}).resume();
    return '';
  }
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') ?? false;
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    text += chunk;
    if (isStream && text.split('event: pulse\n').length > pulsesRead) break;
  }
  return text;
}
