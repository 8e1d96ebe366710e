import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectorErrorKind } from '../../../src/contract/errors.ts';
import { useDatabase } from '../../support/database.ts';
import { useSource } from './source.ts';

const source = useSource(useDatabase());
const mebibyte = 1024 * 1024;

/** A message of the protocol that announces `length` bytes and brings `body`. */
function message(code: string, body: Buffer, length = body.length): Buffer {
  const header = Buffer.alloc(5);
  header.write(code, 'latin1');
  header.writeUInt32BE(length + 4, 1);
  return Buffer.concat([header, body]);
}

const welcome = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
const done = Buffer.concat([message('C', Buffer.from('BEGIN\0')), message('Z', Buffer.from('T'))]);

/** Sends the same bytes again and again until the client is gone; returns how many it got rid of. */
function flood(socket: Socket, chunk: Buffer): void {
  const send = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', send);
  send();
}

/** Runs the connector against a server that answers its n-th message as `answers[n]` says. */
async function runAgainst(answers: ((socket: Socket) => void)[]) {
  let sent = 0;
  const server = createServer((socket) => {
    let heard = 0;
    socket.on('data', () => answers[heard++]?.(socket));
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
  return expect.fail('it succeeded');
}

const greets = (socket: Socket) => socket.write(welcome);
const begins = (socket: Socket) => socket.write(done);
const rows = (socket: Socket) => {
  socket.write(message('D', Buffer.alloc(0), 3 * 1024 * mebibyte));
  flood(socket, Buffer.alloc(mebibyte, 'x'));
};

describe('postgres: a server that sends without end', () => {
  it.each<[string, ((socket: Socket) => void)[], RegExp]>([
    ['a row that never ends', [greets, begins, rows], /more than 33554432 bytes/],
    ['a first message that never ends', [rows], /more than 33554432 bytes/],
    [
      'notices without end, before it lets anyone in',
      [(socket) => flood(socket, message('N', Buffer.alloc(1)))],
      /more than (33554432 bytes|50000 messages)/,
    ],
    [
      'answers to one statement without end',
      [greets, begins, (socket) => flood(socket, message('C', Buffer.from('BEGIN\0')))],
      /more than 50000 messages/,
    ],
  ])('postgres: closes the connection and fails: %s', async (_, answers, reason) => {
    const { kind, message: said, sent } = await runAgainst(answers);
    expect(said).toMatch(reason);
    expect(kind).toBe('permanent');
    // What the sockets of both ends hold comes on top.
    expect(sent).toBeLessThan(64 * mebibyte);
  });
});
