import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A TCP proxy in front of Postgres with controllable faults. */
export interface Network {
  url: string;
  /** True cuts the connection after the server has received the data. */
  cutsAfter: (sent: string, connection: object) => boolean;
  /** Drops all traffic of existing and new connections without closing them. */
  stall(): void;
  /** Closes the server side only, without notice to clients. */
  halfOpen(): void;
  trickle(): void;
  /** Resets existing and new connections. */
  reset(): number;
  /** Closes the listener; open connections stay open. */
  refuse(): Promise<void>;
  /** Ends the fault. Stalled connections stay stalled. */
  heal(): Promise<void>;
  /** Closes stalled connections, as TCP keepalive would after hours. */
  forget(): void;
  /** Number of connections that stalled or became half open. */
  stalled(): number;
  open(): number;
  close(): void;
}

/** Large statements reach their timeout; short ones succeed. */
const trickleBytes = 256;
const trickleMs = 10;

interface Link {
  client: Socket;
  upstream: Socket;
  isMute: boolean;
}

export async function openNetwork(databaseUrl: string): Promise<Network> {
  const target = new URL(databaseUrl);
  const links = new Set<Link>();
  const sockets = new Set<Socket>();
  let mode: 'normal' | 'stalled' | 'half open' | 'slow' | 'reset' = 'normal';
  let stalled = 0;

  function mute(link: Link): void {
    if (link.isMute) return;
    link.isMute = true;
    stalled++;
  }

  /** Forwards data in order, with limited bandwidth in slow mode. */
  function createForwarder(link: Link, to: Socket): { send(data: Buffer): Promise<void>; end(): void } {
    let last = Promise.resolve();
    const forward = async (data: Buffer) => {
      let sent = 0;
      while (mode === 'slow' && sent < data.length && !link.isMute) {
        to.write(data.subarray(sent, sent + trickleBytes));
        sent += trickleBytes;
        await delay(trickleMs);
      }
      if (!link.isMute && !to.destroyed && sent < data.length) to.write(data.subarray(sent));
    };
    return {
      send: (data) => (last = last.then(() => forward(data))),
      end: () => void last.then(() => link.isMute || to.end()),
    };
  }

  function connect(client: Socket): void {
    // allowHalfOpen: a stalled network does not respond to FIN either.
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
    if (mode === 'stalled' || mode === 'half open') mute(link);
    if (mode === 'half open') upstream.destroy();
    const [toServer, toClient] = [createForwarder(link, upstream), createForwarder(link, client)];
    client.on('data', (data) => {
      if (link.isMute) return;
      const isCut = network.cutsAfter(data.toString('latin1'), client);
      const sent = toServer.send(data);
      if (!isCut) return;
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
        if (mode === 'reset') client.on('error', () => {}).resetAndDestroy();
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
      mode = 'stalled';
      links.forEach(mute);
    },
    halfOpen: () => {
      mode = 'half open';
      for (const link of links) {
        mute(link);
        link.upstream.destroy();
      }
    },
    trickle: () => {
      mode = 'slow';
    },
    reset: () => {
      mode = 'reset';
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
      mode = 'normal';
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
