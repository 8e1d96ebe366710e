import { appendFileSync, writeFileSync } from 'node:fs';
import { describeError, SynclineError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import { createHider, recordedRequest } from './hide.ts';
import { askedRequest, type Exchange } from './traffic.ts';

export interface RecordOptions {
  /** What really asks the provider; the engine's own unless given. */
  fetch?: typeof fetch | undefined;
  /** Values that must not be in the file, whatever they are called where they occur. */
  secrets?: readonly string[] | undefined;
}

/** A recording is looked through by people and kept with the tests; nobody wants more than this in a repository. */
const maxBytes = 50 * 1024 * 1024;

/** Headers that no longer fit a body that was decoded and read to its end. */
const ofTransport = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection']);

/**
 * A fetch that writes everything that goes through it to a new file, one line of JSON for each exchange, secrets hidden.
 * Look through the file before you commit it: what is a secret only by its meaning cannot be known here.
 */
export function recordTraffic(file: string, options: RecordOptions = {}): typeof fetch {
  const send = options.fetch ?? systemPorts.fetch;
  const hider = createHider(options.secrets ?? []);
  let bytes = 0;
  writeFileSync(file, '', { mode: 0o600 });

  function write(exchange: Exchange): void {
    const line = `${JSON.stringify(exchange)}\n`;
    bytes += Buffer.byteLength(line);
    if (bytes > maxBytes)
      throw new SynclineError(
        'INVALID_ARGUMENT',
        `The recording ${file} would be larger than ${maxBytes} bytes.`,
        {
          hint: 'Record a smaller sync.',
        },
      );
    appendFileSync(file, line);
  }

  return async (...request) => {
    const asked = await askedRequest(...request);
    hider.learn(asked);
    const recorded = recordedRequest(asked, hider);
    const response = await send(...request).catch((error: unknown) => {
      write({ request: recorded, error: hider.text(reasonOf(error)) });
      throw error;
    });
    const body = new Uint8Array(await response.arrayBuffer());
    const headers = new Headers([...response.headers].filter(([name]) => !ofTransport.has(name)));
    const read = body.length === 0 ? undefined : body;
    write({
      request: recorded,
      response: {
        status: response.status,
        headers: hider.headers(headers),
        ...hider.body(read, headers.get('content-type')),
      },
    });
    return new Response(read ?? null, { status: response.status, headers });
  };
}

const reasonOf = (error: unknown) =>
  describeError(error instanceof Error && error.cause !== undefined ? error.cause : error);
