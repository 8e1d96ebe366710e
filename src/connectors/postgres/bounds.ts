import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { PermanentError } from '../../connector-kit/index.ts';
import { maxAnswerBytes } from './statements.ts';

/**
 * What a server may send in answer to one statement. A page is cut at a quarter of these bytes and at 10,000 rows by the statement
 * itself, so only a server that does not do as it is asked comes near.
 */
const maxBytes = 4 * maxAnswerBytes;
/** A message can be as short as five bytes, and the driver makes an object of each. */
const maxMessages = 50_000;

/** The parts of the driver that carry what a server sends. */
interface Wire extends EventEmitter {
  stream: Duplex;
}

export interface Bounds {
  /** The next statement begins. */
  reset(): void;
}

/**
 * Ends the connection as soon as a server sends too much, from its first byte on. The driver itself collects a message until it is
 * complete, whatever length the server announces.
 */
export function boundAnswers(client: pg.Client): Bounds {
  const wire = (client as unknown as { connection: Wire }).connection;
  let bytes = 0;
  let messages = 0;

  function refuse(what: string): void {
    wire.stream.destroy(
      new PermanentError(`The server sent more than ${what} in answer to one statement. Is it a Postgres?`),
    );
  }

  const watch = () =>
    wire.stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) refuse(`${maxBytes} bytes`);
    });

  watch();
  // From here on what arrives is decrypted by a stream of its own.
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
