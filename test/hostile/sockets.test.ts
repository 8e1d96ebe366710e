import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { hostRule } from '../../src/http/hosts.ts';
import { type HttpServer, startServer } from '../../src/http/server.ts';
import { createSyncline, type Syncline } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { type SocketCase, socketCases } from './socket-cases.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
let engine: Syncline;
let server: HttpServer;
let host: string;
let key: string;

beforeAll(async () => {
  engine = createSyncline({ database: database.url, logger: silent });
  const app = createApp({ syncline: engine, log: silent, version: 'test', hosts: hostRule('127.0.0.1') });
  server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  host = new URL(server.url).host;
  ({ key } = await engine.keys.create({ name: 'socket', tenantId: tenant }));
});
afterAll(async () => {
  await server?.close();
  await engine?.stop();
});

function exchange({ bytes, ends }: SocketCase): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => {
      if (ends) socket.end(bytes(host, key));
      else socket.write(bytes(host, key));
    });
    socket.setTimeout(30_000, () => socket.destroy(new Error(`no end after ${JSON.stringify(received)}`)));
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(received));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close before it has read all of a rejected request.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
  });
}

const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('hostile sockets: invalid HTTP is rejected once, and smuggled requests get no response', () => {
  it.each(socketCases.map((testCase) => [testCase.name, testCase] as const))(
    'socket: gets the expected responses: %s',
    async (_name, testCase) => {
      const received = await exchange(testCase);
      expect(statusesIn(received), received.slice(0, 500)).toEqual(testCase.statuses);
      expect(received).not.toContain('node:internal');
    },
  );

  it('socket: a request sent byte by byte is served', async () => {
    const text = `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
    const { hostname, port } = new URL(server.url);
    const received = await new Promise<string>((resolve, reject) => {
      let answer = '';
      const socket = connect(Number(port), hostname, async () => {
        socket.setNoDelay(true);
        for (const byte of text) await new Promise<void>((sent) => socket.write(byte, () => sent()));
      });
      socket.on('data', (data) => {
        answer += data.toString();
      });
      socket.on('close', () => resolve(answer)).on('error', reject);
    });
    expect(statusesIn(received)).toEqual([200]);
  });

  it('socket: endless headers time out with 408 without delaying other clients', async () => {
    const { hostname, port } = new URL(server.url);
    const slow = Array.from({ length: 100 }, () => {
      const socket = connect(Number(port), hostname, () => socket.write('GET /healthz HTTP/1.1\r\nx: '));
      return new Promise<string>((resolve) => {
        let answer = '';
        socket.on('data', (data) => {
          answer += data.toString();
        });
        socket.on('close', () => resolve(answer)).on('error', () => {});
      });
    });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    const ended = await Promise.all(slow);
    expect(ended.map(statusesIn)).toEqual(slow.map(() => [408]));
  });

  it('socket: the service responds and a healthy connection still syncs afterwards', async () => {
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await stillSyncs(database);
  });
});
