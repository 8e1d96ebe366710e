import { connect as connectTo, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/dev/postgres.ts';

/**
 * A proxy that reports a different backend pid, as poolers do. Tests the detection of a pooler without
 * PgBouncer.
 */
export async function startOwnKeys(databaseUrl: string): Promise<{ url: string; stop: () => void }> {
  const { hostname, port } = new URL(databaseUrl);
  const listenPort = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectTo({ host: hostname, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    let login: Buffer | undefined = Buffer.alloc(0);
    upstream.on('data', (data: Buffer) => {
      if (!login) return void client.write(data);
      login = Buffer.concat([login, data]);
      const end = endOfKey(login);
      if (end === undefined && !needsForwarding(login)) return;
      if (end !== undefined) login.writeInt32BE(login.readInt32BE(end - 8) + 1, end - 8);
      client.write(login);
      if (end !== undefined) login = undefined;
      else login = Buffer.alloc(0);
    });
  });
  await new Promise<void>((resolve) => server.listen(listenPort, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String(listenPort);
  return {
    url: url.href,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The end of the BackendKeyData message, if received. */
function endOfKey(data: Buffer): number | undefined {
  for (let at = 0; at + 5 <= data.length; ) {
    const end = at + 1 + data.readInt32BE(at + 1);
    if (end > data.length) return undefined;
    if (data[at] === 'K'.charCodeAt(0)) return end;
    at = end;
  }
  return undefined;
}

/** Authentication requests, which the client must answer first, and errors. */
const needsForwarding = (data: Buffer) => data[0] === 'R'.charCodeAt(0) || data[0] === 'E'.charCodeAt(0);
