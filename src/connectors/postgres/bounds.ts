import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { PermanentError } from '../../connector-kit/index.ts';
import { maxAnswerBytes } from './statements.ts';

/** Per statement. Pages are cut at a quarter: only a faulty server exceeds it. */
const maxBytes = 4 * maxAnswerBytes;
/** The driver allocates an object per message, which may be 5 bytes. */
const maxMessages = 50_000;

interface Wire extends EventEmitter {
  stream: Duplex;
}

export interface Bounds {
  reset(): void;
}

/** The driver buffers messages of any announced length. */
export function boundAnswers(client: pg.Client): Bounds {
  const wire = (client as unknown as { connection: Wire }).connection;
  let bytes = 0;
  let messages = 0;

  function refuse(what: string): void {
    wire.stream.destroy(
      new PermanentError(`The server sent more than ${what} in response to one statement. Is it Postgres?`),
    );
  }

  const watch = () =>
    wire.stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) refuse(`${maxBytes} bytes`);
    });

  watch();
  // After the handshake, data arrives on another stream.
  wire.on('sslconnect', watch);
  wire.on('message', () => {
    messages++;
    if (messages === maxMessages + 1) refuse(`${maxMessages} messages`);
  });
  return {
    reset: () => {
      bytes = 0;
      messages = 0;
    },
  };
}
