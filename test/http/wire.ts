import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';

export interface WireRequest {
  method: string;
  /** Path and query, sent verbatim. */
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
  /** Sends raw bytes and reads until the server closes the socket. */
  sendBytes(bytes: string | Buffer): Promise<string>;
  close(): void;
}

/** Longer than any response on a slow machine. */
const timeoutMs = 30_000;
/** After this many pulses, a stream has sent all stored events. */
const pulsesRead = 3;

/** HTTP client with keep-alive that sends and returns everything unmodified. */
export function wireTo(url: string): Wire {
  const { hostname: host, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 24 });
  return {
    send: ({ method, target, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const hasLength = body !== undefined && headers['transfer-encoding'] === undefined;
        const length = hasLength ? { 'content-length': String(Buffer.byteLength(body)) } : {};
        const options = { host, port, agent, method, path: target, headers: { ...length, ...headers } };
        let hasResponse = false;
        const sent = httpRequest(options, (response) => {
          hasResponse = true;
          read(method, response).then((text) => {
            const { statusCode = 0, headers: received } = response;
            const flat = Object.entries(received).map(([name, value]) => [name, String(value)]);
            resolve({ status: statusCode, headers: Object.fromEntries(flat), text });
          }, reject);
        });
        sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer in ${timeoutMs} ms`)));
        sent.on('error', (cause) => {
          // Unparsable requests get an error body even for HEAD, which the parser reports as an error.
          if (hasResponse && method === 'HEAD') return;
          reject(new Error(`${method} ${target.slice(0, 200)}: ${cause.message}`, { cause }));
        });
        sent.end(body);
      }),
    sendBytes: (bytes) =>
      new Promise((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), host, () => socket.write(bytes));
        socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer in ${timeoutMs} ms`)));
        socket.on('data', (data) => {
          text += data.toString('latin1');
        });
        socket.on('close', () => resolve(text));
        socket.on('error', (error: NodeJS.ErrnoException) => {
          // The server may close the socket before reading a rejected request completely.
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
