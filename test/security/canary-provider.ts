import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EchoingProvider {
  url: string;
  requests: string[];
  close(): void;
}

/** A provider that echoes each request in its response and adds secrets unknown to the engine. */
export async function startEchoingProvider(secrets: {
  unknownToken: string;
  newAccess: string;
  newRefresh: string;
}): Promise<EchoingProvider> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider');
    const received = JSON.stringify({ url: request.url, headers: request.headers, body });
    requests.push(received);
    const headers = {
      'content-type': 'application/json',
      'x-new-token': secrets.unknownToken,
      'set-cookie': `session=${secrets.unknownToken}`,
    };
    const answer = (status: number, value: unknown, more = {}) =>
      response.writeHead(status, { ...headers, ...more }).end(JSON.stringify(value));
    const echo = { message: `refused ${request.headers.authorization} ${request.url}`, received };
    if (pathname === '/token' && body.includes('refused')) answer(400, { error: 'invalid_grant', ...echo });
    else if (pathname === '/token' && body.includes('broken')) answer(500, { error: body, ...echo });
    else if (pathname === '/token')
      answer(200, { access_token: secrets.newAccess, refresh_token: secrets.newRefresh, expires_in: 3600 });
    else if (pathname.startsWith('/moved'))
      answer(302, echo, {
        location: `ftp://elsewhere/?t=${searchParams.get('t')}&access_token=${secrets.unknownToken}`,
      });
    else if (pathname === '/cut') request.socket.destroy();
    else if (pathname === '/form')
      response.writeHead(400).end(`error=no&access_token=${secrets.unknownToken}`);
    else if (/^\/\d+/.test(pathname))
      answer(
        Number(pathname.slice(1, 4)),
        { access_token: secrets.unknownToken, ...echo },
        { 'retry-after': '1' },
      );
    else answer(200, { items: [1, 2] });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
