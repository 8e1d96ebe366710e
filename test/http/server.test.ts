import { connect } from 'node:net';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { startServer } from '../../src/http/server.ts';
import { startHttpService } from '../../src/http/service.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, useDatabase } from '../support/database.ts';
import { call, closeLater, raw, startService } from './service.ts';

const db = useDatabase();

const start = (app: Hono) => startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });

test('server: a port in use is an error with a hint', async () => {
  const { url } = closeLater(await start(new Hono()));
  const port = Number(new URL(url).port);
  await expect(
    startServer({ app: new Hono(), host: '127.0.0.1', port, ports: systemPorts }),
  ).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `HTTP cannot be served on 127.0.0.1:${port} (EADDRINUSE).`,
    hint: 'Set SYNCLINE_SERVER_PORT to a free port, or to 0 to pick one.',
  });
});

test('server: close() waits for active requests, not for idle connections', async () => {
  let release = () => {};
  const app = new Hono().get('/slow', async (c) => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return c.text('done');
  });
  const server = await start(app);
  const slow = fetch(`${server.url}/slow`);
  // One connection without a request, one kept alive after a response.
  const idle = raw(server.url, '');
  await fetch(server.url).then((response) => response.text());
  await new Promise((resolve) => setTimeout(resolve, 50));
  const closed = server.close();
  await idle.catch(() => {});
  await expect(fetch(server.url)).rejects.toThrow();
  release();
  expect(await (await slow).text()).toBe('done');
  await closed;
});

test('server: brackets an IPv6 address in its URL', async () => {
  const server = await startServer({ app: new Hono(), host: '::1', port: 0, ports: systemPorts }).catch(
    () => undefined,
  );
  if (server) {
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    await server.close();
  }
});

test('server: applies the configured port and hosts', async () => {
  const syncline = db.engine({ server: { port: 0, hosts: ['sync.example.com'] } });
  const { key } = await syncline.keys.create({ name: 'tests' });
  const { url } = closeLater(await startHttpService({ syncline, log: silent }));
  expect((await call(url, '/v1/me', key)).body['version']).toMatch(/^\d+\.\d+\.\d+/);
  const ask = (host: string) =>
    raw(url, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  expect(await ask('sync.example.com')).toMatch(/^HTTP\/1.1 200/);
  expect(await ask('evil.example')).toMatch(/^HTTP\/1.1 403/);
});

test('server: a client that disconnects during its body is not logged', async () => {
  const logged: unknown[] = [];
  const note = (...line: unknown[]) => logged.push(line);
  const { url, key } = await startService(db, { log: { error: note, warn: note, debug: note } as never });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    `POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(logged).toEqual([]);
});
