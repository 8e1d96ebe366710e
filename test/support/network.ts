import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A network between processes and their Postgres that fails when it is told to. */
export interface Network {
  /** The database, by way of this network. */
  url: string;
  /** Sees what a client sends, and says whether its connection is to be cut as soon as the server has got it. */
  cutsAfter: (sent: string, connection: object) => boolean;
  /** From now on nothing goes through in either direction, on old connections and on new ones, and none is closed. */
  stall(): void;
  /** The server's ends are closed; the clients are told nothing, nor are those that connect from now on. */
  halfOpen(): void;
  /** From now on few bytes at a time go through. */
  trickle(): void;
  /** Breaks every connection, and from now on each new one as soon as it is made. */
  reset(): number;
  /** Nobody listens any more; connections that are open stay so. */
  refuse(): Promise<void>;
  /** New connections work again, and slow ones are fast; those that stalled never will. */
  heal(): Promise<void>;
  /** Ends those that stalled, as the keepalive of both ends would after hours. */
  forget(): void;
  /** Connections that stalled, or are half open. */
  stalled(): number;
  /** Connections that are open and work. */
  open(): number;
  close(): void;
}

/** Slow enough that a statement of many rows takes longer than people wait, fast enough that short ones get through. */
const trickleBytes = 256;
const trickleMs = 10;

interface Link {
  client: Socket;
  upstream: Socket;
  /** Nothing goes through any more. */
  isMute: boolean;
}

export async function openNetwork(databaseUrl: string): Promise<Network> {
  const target = new URL(databaseUrl);
  const links = new Set<Link>();
  const sockets = new Set<Socket>();
  let weather: 'fair' | 'stalled' | 'half open' | 'slow' | 'reset' = 'fair';
  let stalled = 0;

  function mute(link: Link): void {
    if (link.isMute) return;
    link.isMute = true;
    stalled++;
  }

  /** Hands on what one end says to the other, in order, at the speed of the day. */
  function courier(link: Link, to: Socket): { send(data: Buffer): Promise<void>; end(): void } {
    let last = Promise.resolve();
    const hand = async (data: Buffer) => {
      let sent = 0;
      while (weather === 'slow' && sent < data.length && !link.isMute) {
        to.write(data.subarray(sent, sent + trickleBytes));
        sent += trickleBytes;
        await delay(trickleMs);
      }
      if (!link.isMute && !to.destroyed && sent < data.length) to.write(data.subarray(sent));
    };
    return {
      send: (data) => (last = last.then(() => hand(data))),
      end: () => void last.then(() => link.isMute || to.end()),
    };
  }

  function connect(client: Socket): void {
    // Half-open sockets are allowed: a stalled network does not answer the end of a connection either.
    const upstream = createConnection({
      host: target.hostname,
      port: Number(target.port),
      allowHalfOpen: true,
    });
    const link: Link = { client, upstream, isMute: false };
    links.add(link);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    if (weather === 'stalled' || weather === 'half open') mute(link);
    if (weather === 'half open') upstream.destroy();
    const [toServer, toClient] = [courier(link, upstream), courier(link, client)];
    client.on('data', (data) => {
      if (link.isMute) return;
      const isLast = network.cutsAfter(data.toString('latin1'), client);
      const sent = toServer.send(data);
      if (!isLast) return;
      client.destroy();
      void sent.then(() => upstream.end());
    });
    upstream.on('data', (data) => void (link.isMute || toClient.send(data)));
    client.on('end', () => toServer.end());
    upstream.on('end', () => toClient.end());
    client.on('close', () => link.isMute || upstream.end());
    upstream.on('close', () => {
      if (link.isMute) return;
      links.delete(link);
      client.destroy();
    });
  }

  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true }, (client) => {
        if (weather === 'reset') client.on('error', () => {}).resetAndDestroy();
        else connect(client);
      });
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });

  let server: Server | undefined = await listen(0);
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);

  const network: Network = {
    url: url.href,
    cutsAfter: () => false,
    stall: () => {
      weather = 'stalled';
      links.forEach(mute);
    },
    halfOpen: () => {
      weather = 'half open';
      for (const link of links) {
        mute(link);
        link.upstream.destroy();
      }
    },
    trickle: () => {
      weather = 'slow';
    },
    reset: () => {
      weather = 'reset';
      const working = [...links].filter(({ isMute }) => !isMute);
      for (const { client, upstream } of working) {
        client.resetAndDestroy();
        upstream.resetAndDestroy();
      }
      return working.length;
    },
    refuse: async () => {
      server?.close();
      server = undefined;
    },
    heal: async () => {
      weather = 'fair';
      server ??= await listen(Number(url.port));
    },
    forget: () => {
      for (const link of links) {
        if (!link.isMute) continue;
        links.delete(link);
        link.client.destroy();
        link.upstream.destroy();
      }
    },
    stalled: () => stalled,
    open: () => [...links].filter(({ isMute }) => !isMute).length,
    close: () => {
      server?.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return network;
}
