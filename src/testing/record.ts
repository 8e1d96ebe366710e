import { appendFileSync, writeFileSync } from 'node:fs';
import { describeError, SynclineError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import { createRedactor, recordedRequest } from './redact.ts';
import { captureRequest, type Exchange } from './traffic.ts';

export interface RecordOptions {
  /** Default: the engine's fetch. */
  fetch?: typeof fetch | undefined;
  /** In addition to known secret fields. */
  secrets?: readonly string[] | undefined;
}

/** Recordings are committed. */
const maxBytes = 50 * 1024 * 1024;

/** Invalid after the body was decoded. */
const transportHeaders = new Set(['content-encoding', 'content-length', 'transfer-encoding', 'connection']);

/**
 * Records exchanges to a new file and redacts secrets. Review it: secrets without a telling name are not
 * detected.
 */
export function recordTraffic(file: string, options: RecordOptions = {}): typeof fetch {
  const send = options.fetch ?? systemPorts.fetch;
  const redactor = createRedactor(options.secrets ?? []);
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
    const captured = await captureRequest(...request);
    redactor.learn(captured);
    const recorded = recordedRequest(captured, redactor);
    const response = await send(...request).catch((error: unknown) => {
      write({ request: recorded, error: redactor.text(causeText(error)) });
      throw error;
    });
    const body = new Uint8Array(await response.arrayBuffer());
    const headers = new Headers([...response.headers].filter(([name]) => !transportHeaders.has(name)));
    const read = body.length === 0 ? undefined : body;
    write({
      request: recorded,
      response: {
        status: response.status,
        headers: redactor.headers(headers),
        ...redactor.body(read, headers.get('content-type')),
      },
    });
    return new Response(read ?? null, { status: response.status, headers });
  };
}

const causeText = (error: unknown) =>
  describeError(error instanceof Error && error.cause !== undefined ? error.cause : error);
