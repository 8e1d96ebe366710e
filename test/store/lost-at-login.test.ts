import { createConnection, createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { silent, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Holds ReadyForQuery and all later messages until the server closes the session. */
async function startHoldingProxy(): Promise<{ url: string; loggedIn: () => number }> {
  const target = new URL(database.url);
  let loggedIn = 0;
  const server = createServer((client) => {
    const upstream = createConnection({ host: target.hostname, port: Number(target.port) });
    const held: Buffer[] = [];
    client.on('error', () => {}).on('data', (data) => upstream.write(data));
    upstream
      .on('error', () => {})
      .on('data', (data) => {
        if (held.length === 0 && !data.includes(readyForQuery)) return void client.write(data);
        if (held.push(data) === 1) loggedIn++;
      });
    upstream.on('end', () => client.end(Buffer.concat(held)));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(database.url);
  url.port = String((server.address() as { port: number }).port);
  return { url: url.href, loggedIn: () => loggedIn };
}

it('sessions: a session that the server terminates right after login does not crash the process', async () => {
  const proxy = await startHoldingProxy();
  const engine = database.engine({ database: proxy.url, logger: silent });
  const uncaught: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error));
  try {
    const request = engine.tenants.list().catch((error: unknown) => error);
    await until('the engine has logged in', () => proxy.loggedIn() > 0);
    await database.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'syncline' AND datname = current_database()`,
    );
    expect(await request).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await new Promise(setImmediate);
    expect(uncaught).toEqual([]);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
});
