import { createConnection, createServer, type Socket } from 'node:net';
import { afterEach } from 'vitest';

export interface Proxy {
  /** The database, by way of the proxy. */
  url: string;
  /** Sees what a client sends, and says whether its connection is to be cut as soon as the server has got it. */
  cutsAfter: (sent: string, connection: object) => boolean;
  /** From now on nothing goes through in either direction, on old connections and on new ones, and none is closed. */
  stall(): void;
  /** New connections work again; those that stalled never will. */
  heal(): void;
  /** Connections that stalled. */
  stalled(): number;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A network between an engine and its Postgres that fails when it is told to. */
export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isStalled = false;
  let stalled = 0;
  const open = new Set<() => void>();

  // Half-open sockets are allowed: a stalled network does not answer the end of a connection either.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = createConnection({
      host: target.hostname,
      port: Number(target.port),
      allowHalfOpen: true,
    });
    let isMute = false;
    const goMute = () => {
      isMute = true;
      stalled++;
    };
    if (isStalled) goMute();
    open.add(goMute);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (data) => {
      if (isMute) return;
      const isLast = proxy.cutsAfter(data.toString('latin1'), client);
      upstream.write(data);
      if (!isLast) return;
      client.destroy();
      upstream.end();
    });
    upstream.on('data', (data) => {
      if (!isMute && !client.destroyed) client.write(data);
    });
    client.on('end', () => isMute || upstream.end());
    upstream.on('end', () => isMute || client.end());
    client.on('close', () => isMute || upstream.end());
    upstream.on('close', () => {
      open.delete(goMute);
      if (!isMute) client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });

  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  const proxy: Proxy = {
    url: url.href,
    cutsAfter: () => false,
    stall: () => {
      isStalled = true;
      for (const goMute of open) goMute();
      open.clear();
    },
    heal: () => {
      isStalled = false;
    },
    stalled: () => stalled,
  };
  return proxy;
}
