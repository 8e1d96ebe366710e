import { connect as connectTo, createServer, type Socket } from 'node:net';
import { freePort } from '../../src/dev/postgres.ts';

/**
 * A proxy that names another server process to its clients than theirs, as poolers do. It pools nothing: where PgBouncer is not
 * installed, it shows at least what the engine does when it recognises a pooler.
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
      if (end === undefined && !isRefusal(login)) return;
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

/** Where BackendKeyData ends, if it has come. */
function endOfKey(data: Buffer): number | undefined {
  for (let at = 0; at + 5 <= data.length; ) {
    const end = at + 1 + data.readInt32BE(at + 1);
    if (end > data.length) return undefined;
    if (data[at] === 'K'.charCodeAt(0)) return end;
    at = end;
  }
  return undefined;
}

/** Questions of the login, which the client has to answer before more comes, and errors. */
const isRefusal = (data: Buffer) => data[0] === 'R'.charCodeAt(0) || data[0] === 'E'.charCodeAt(0);
