import { createConnection, createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { silent, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** The message by which a server says that it waits for the first statement. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Between an engine and its Postgres. Who has logged in hears nothing more until the server has ended, and then all at once. */
async function startLateProxy(): Promise<{ url: string; loggedIn: () => number }> {
  const target = new URL(database.url);
  let loggedIn = 0;
  const server = createServer((client) => {
    const upstream = createConnection({ host: target.hostname, port: Number(target.port) });
    const held: Buffer[] = [];
    client.on('error', () => {}).on('data', (data) => upstream.write(data));
    upstream
      .on('error', () => {})
      .on('data', (data) => {
        if (held.length === 0 && !data.includes(ready)) return void client.write(data);
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

it('a server that ends a session in the same breath in which it has let it in ends no process', async () => {
  const proxy = await startLateProxy();
  const engine = database.engine({ database: proxy.url, logger: silent });
  const uncaught: unknown[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error));
  try {
    const asked = engine.tenants.list().catch((error: unknown) => error);
    await until('it has logged in', () => proxy.loggedIn() > 0);
    await database.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'syncline' AND datname = current_database()`,
    );
    expect(await asked).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await new Promise(setImmediate);
    expect(uncaught).toEqual([]);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
  }
});
