import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/http/app.ts';
import { hostRule } from '../../src/http/hosts.ts';
import { type HttpServer, startServer } from '../../src/http/server.ts';
import { createSyncline, type Syncline } from '../../src/index.ts';
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
  server = await startServer({ app, host: '127.0.0.1', port: 0 });
  host = new URL(server.url).host;
  ({ key } = await engine.keys.create({ name: 'socket', tenantId: tenant }));
});
afterAll(async () => {
  await server?.close();
  await engine?.stop();
});

/** Says it, and hears everything until the server hangs up. */
function say({ bytes, ends }: SocketCase): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => {
      if (ends) socket.end(bytes(host, key));
      else socket.write(bytes(host, key));
    });
    socket.setTimeout(30_000, () => socket.destroy(new Error(`no end after ${JSON.stringify(heard)}`)));
    socket.on('data', (data) => {
      heard += data.toString('latin1');
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(heard));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The server need not read to the end what it has refused.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
  });
}

const statusesIn = (heard: string) =>
  [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

describe('hostile sockets: what is no HTTP is refused once, and nothing that hides behind it is answered', () => {
  it.each(socketCases.map((one) => [one.name, one] as const))('socket: %s', async (_name, one) => {
    const heard = await say(one);
    expect(statusesIn(heard), heard.slice(0, 500)).toEqual(one.statuses);
    expect(heard).not.toContain('node:internal');
  });

  it('socket: one byte at a time is a request like any other', async () => {
    const text = `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
    const { hostname, port } = new URL(server.url);
    const heard = await new Promise<string>((resolve, reject) => {
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
    expect(statusesIn(heard)).toEqual([200]);
  });

  it('socket: headers that never end are not waited for, and nobody else waits meanwhile', async () => {
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

  it('socket: afterwards the service answers, and a healthy connection is synced as ever', async () => {
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await stillSyncs(database);
  });
});
