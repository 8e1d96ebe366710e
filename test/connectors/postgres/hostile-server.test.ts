import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectorErrorKind } from '../../../src/contract/errors.ts';
import { useDatabase } from '../../support/database.ts';
import { useSource } from './source.ts';

const source = useSource(useDatabase());
const mebibyte = 1024 * 1024;

/** A protocol message whose header claims `length` bytes. */
function message(code: string, body: Buffer, length = body.length): Buffer {
  const header = Buffer.alloc(5);
  header.write(code, 'latin1');
  header.writeUInt32BE(length + 4, 1);
  return Buffer.concat([header, body]);
}

const authenticationOk = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const beginComplete = Buffer.concat([message('C', Buffer.from('BEGIN\0')), message('Z', Buffer.from('T'))]);

/** Many copies per write: one small write each can outlast the connect timeout on a busy machine. */
const repeated = (chunk: Buffer) => Buffer.concat(Array.from({ length: 1_000 }, () => chunk));

/** Sends the chunk repeatedly until the client disconnects. */
function flood(socket: Socket, chunk: Buffer): void {
  const send = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', send);
  send();
}

/** Runs the connector against a server that handles its n-th message with `answers[n]`. */
async function runAgainst(answers: ((socket: Socket) => void)[]) {
  let sent = 0;
  const server = createServer((socket) => {
    let received = 0;
    socket.on('data', () => answers[received++]?.(socket));
    socket.on('error', () => {});
    socket.on('close', () => {
      sent = Math.max(sent, socket.bytesWritten);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = { table: 'source.items', cursorColumn: 'updated_at', keyColumns: ['id'] };
  try {
    await source.runOnce({ ...config, host: '127.0.0.1', port, ssl: 'off' });
  } catch (error) {
    const closed = new Promise((resolve) => server.close(resolve));
    await closed;
    return { kind: connectorErrorKind(error), message: (error as Error).message, sent };
  }
  server.close();
  return expect.fail('the run succeeded');
}

const sendAuthenticationOk = (socket: Socket) => socket.write(authenticationOk);
const sendBeginComplete = (socket: Socket) => socket.write(beginComplete);
const sendEndlessRow = (socket: Socket) => {
  socket.write(message('D', Buffer.alloc(0), 3 * 1024 * mebibyte));
  flood(socket, Buffer.alloc(mebibyte, 'x'));
};

describe('postgres: a server that sends endlessly', () => {
  it.each<[string, ((socket: Socket) => void)[], RegExp]>([
    ['an endless row', [sendAuthenticationOk, sendBeginComplete, sendEndlessRow], /more than 33554432 bytes/],
    ['an endless first message', [sendEndlessRow], /more than 33554432 bytes/],
    [
      'endless notices before authentication',
      [(socket) => flood(socket, repeated(message('N', Buffer.alloc(1))))],
      /more than (33554432 bytes|50000 messages)/,
    ],
    [
      'endless responses to one statement',
      [
        sendAuthenticationOk,
        sendBeginComplete,
        (socket) => flood(socket, repeated(message('C', Buffer.from('BEGIN\0')))),
      ],
      /more than 50000 messages/,
    ],
  ])('postgres: closes the connection and fails permanently: %s', async (_, answers, reason) => {
    const { kind, message: errorMessage, sent } = await runAgainst(answers);
    expect(errorMessage).toMatch(reason);
    expect(kind).toBe('permanent');
    // Includes the socket buffers of both ends.
    expect(sent).toBeLessThan(64 * mebibyte);
  });
});
