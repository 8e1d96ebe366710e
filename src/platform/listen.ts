import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SynclineError } from '../contract/errors.ts';

/** The URL, without a trailing slash. */
export async function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
  { served, portVariable }: { served: string; portVariable: string },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SynclineError(
          'CONFIG_INVALID',
          `${served} cannot be served on ${host}:${port} (${cause.code}).`,
          {
            hint: `Set ${portVariable} to a free port, or to 0 to pick one.`,
            cause,
          },
        ),
      );
    });
    server.listen(port, host, resolve);
  });
  const { address, family, port: listening } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${listening}`;
}
