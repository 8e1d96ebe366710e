import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const client = { id: 'example-app', secret: 'example-app-secret' };

/** The outside system: an OAuth 2 provider with PKCE and rotating refresh tokens, and its API. */
export async function startProvider() {
  const newToken = () => randomBytes(16).toString('hex');
  let code: { value: string; challenge: string } | undefined;
  let tokens = { access: newToken(), refresh: newToken() };
  const grants: string[] = [];

  /** A real provider shows a login and a consent page here. This one consents immediately. */
  function authorize(query: URLSearchParams): string {
    code = { value: newToken(), challenge: query.get('code_challenge') ?? '' };
    const callback = new URL(query.get('redirect_uri') ?? '');
    callback.searchParams.set('code', code.value);
    callback.searchParams.set('state', query.get('state') ?? '');
    return callback.href;
  }

  function isValidGrant(form: URLSearchParams): boolean {
    if (form.get('grant_type') === 'refresh_token') return form.get('refresh_token') === tokens.refresh;
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    return form.get('code') === code?.value && challenge === code?.challenge;
  }

  const server = createServer(async (request, response) => {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider');
    if (pathname === '/authorize') {
      response.writeHead(302, { location: authorize(searchParams) }).end();
    } else if (pathname === '/token') {
      const form = await formOf(request);
      if (form.get('client_id') !== client.id || form.get('client_secret') !== client.secret)
        return send(401, { error: 'invalid_client' });
      if (!isValidGrant(form)) return send(400, { error: 'invalid_grant' });
      grants.push(form.get('grant_type') ?? '');
      tokens = { access: newToken(), refresh: newToken() };
      send(200, { access_token: tokens.access, refresh_token: tokens.refresh, expires_in: 3600 });
    } else if (request.headers.authorization === `Bearer ${tokens.access}`) {
      send(200, [{ id: 1, title: 'Issue 1', updated_at: '2025-01-06T09:00:00.000Z' }]);
    } else {
      send(401, { message: 'unknown token' });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The grants for which it issued tokens. */
    grants,
    revokeAccessToken: () => {
      tokens.access = newToken();
    },
    stop: () => server.close(),
  };
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return new URLSearchParams(text);
}
