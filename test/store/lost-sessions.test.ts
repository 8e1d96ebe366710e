import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { openDatabase } from '../../src/store/database.ts';
import { silent, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

async function startProxy(pipe: (client: Socket, upstream: Socket) => void): Promise<string> {
  const target = new URL(database.url);
  const server = createServer((client) =>
    pipe(client, createConnection({ host: target.hostname, port: Number(target.port) })),
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(database.url);
  url.port = String((server.address() as AddressInfo).port);
  return url.href;
}

/** Holds ReadyForQuery and all later messages until the server closes the session. */
async function startHoldingProxy(): Promise<{ url: string; loggedIn: () => number }> {
  let loggedIn = 0;
  const url = await startProxy((client, upstream) => {
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
  return { url, loggedIn: () => loggedIn };
}

const terminate = Buffer.from([0x58, 0, 0, 0, 4]);
const fatalError = Buffer.from('E\0\0\0\x2aSFATAL\0C57P01\0Madministrator command\0\0', 'latin1');

/** Answers the client's Terminate as a server does whose session an administrator ends at that moment. */
const startTerminatingProxy = (onAnswered: (client: Socket) => void): Promise<string> =>
  startProxy((client, upstream) => {
    upstream.on('error', () => {}).on('data', (data) => client.write(data));
    client
      .on('error', () => {})
      .on('data', (data) => {
        if (!data.equals(terminate)) return void upstream.write(data);
        upstream.end(data);
        client.end(fatalError, () => onAnswered(client));
      });
  });

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

it('sessions: a session that the server terminates while its pool closes is not reported as lost', async () => {
  const lost: Error[] = [];
  const sockets: Socket[] = [];
  const url = await startTerminatingProxy((client) => sockets.push(client));
  const { config } = loadConfig({ options: { database: url } });
  const db = openDatabase(config.database, {
    ports: systemPorts,
    onConnectionLost: (error) => lost.push(error),
    onSkew: () => {},
  });
  await db.query('SELECT 1');
  await db.close();
  await until('the proxy has answered', () => sockets.length > 0);
  if (!sockets[0]?.closed) await once(sockets[0] as Socket, 'close');
  expect(lost).toEqual([]);
});
