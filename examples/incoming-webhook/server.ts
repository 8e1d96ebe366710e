import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Syncline } from 'syncline';

const maxBytes = 1_000_000;

/**
 * Your own server. `syncline start`, or Syncline's API mounted in your server, has this route, with limits for
 * senders; write it yourself only for another path.
 */
export async function startServer(syncline: Syncline) {
  const server = createServer(async (request, response) => {
    try {
      const [, provider, connectionId] = /^\/v1\/webhooks\/([^/]+)\/([^/]+)$/.exec(request.url ?? '') ?? [];
      if (request.method !== 'POST' || !provider || !connectionId) return response.writeHead(404).end();
      const body = await bodyOf(request);
      if (!body) return response.writeHead(413).end();
      const receipt = await syncline.webhooks.deliver(decodeURIComponent(provider), connectionId, {
        method: 'POST',
        headers: headersOf(request),
        body, // raw bytes: the signature does not match a body that was parsed and serialized again
      });
      // One answer for every failed check: it reveals neither connections nor secrets.
      if (!receipt.verified) return response.writeHead(401).end();
      if (receipt.reply === undefined) return response.writeHead(202).end();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(receipt.reply));
    } catch {
      response.writeHead(503, { 'retry-after': '60' }).end(); // the provider delivers again
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
