import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Syncline } from 'syncline';

/**
 * Your application, with a "Connect" button and the callback. `syncline start`, or Syncline's API mounted in your
 * server, has an equivalent flow with a consent page: `POST /v1/connections/authorize`.
 */
export async function startServer(syncline: Syncline) {
  const server = createServer(async (request, response) => {
    const redirect = (location: string, cookie?: string) =>
      response.writeHead(302, { location, ...(cookie && { 'set-cookie': cookie }) }).end();
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    try {
      // Your session check belongs here: the signed-in user must own this connection.
      if (pathname === '/connect') {
        const { link } = await syncline.credentials.authorize({
          connectionId: searchParams.get('connection') ?? '',
          redirectUri: `${url}/callback`, // registered with the provider
          returnTo: `${url}/connected`,
        });
        // Binds the flow to this browser, so that a forwarded link cannot connect the account of another user.
        const browser = randomBytes(32).toString('hex');
        const { redirectTo } = await syncline.oauth.start({ link, browser });
        redirect(redirectTo, `browser=${browser}; HttpOnly; SameSite=Lax; Path=/callback; Max-Age=600`);
      } else if (pathname === '/callback') {
        const { returnTo, error } = await syncline.oauth.complete({
          state: searchParams.get('state') ?? '',
          code: searchParams.get('code') ?? undefined,
          error: searchParams.get('error') ?? undefined,
          browser: /browser=(\w+)/.exec(request.headers.cookie ?? '')?.[1],
        });
        redirect(`${returnTo}?status=${error ?? 'authorized'}`);
      } else {
        response.end(`${pathname}${new URL(request.url ?? '/', url).search}`);
      }
    } catch {
      response.writeHead(400).end('This link is invalid or has expired.');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, stop: () => server.close() };
}
