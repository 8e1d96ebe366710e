import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuth2 } from '../../src/index.ts';
import { cleanUpAfterEach } from '../support/cleanup.ts';

interface TokenRequest {
  form: Record<string, string>;
  authorization: string | undefined;
}

/** An OAuth provider that rotates refresh tokens and treats a reused one as stolen. */
export interface OAuthServer {
  url: string;
  oauth2: OAuth2;
  requests: TokenRequest[];
  /** The bearer token of each API call. */
  calls: string[];
  secrets: Set<string>;
  behaviour: {
    /** Awaited before each token request. */
    before?: (() => Promise<void>) | undefined;
    /** A fixed response. */
    answer?: { status: number; body: string } | undefined;
    asForm?: boolean;
    expiresIn?: number | string | undefined;
    rotates?: boolean;
  };
  /** Issues tokens without consent. */
  issue(): { accessToken: string; refreshToken: string };
  latest(): string;
  revoke(accessToken: string): void;
  /** Whether a refresh token was used twice. */
  sawTheft(): boolean;
}

const closing: (() => void)[] = [];
cleanUpAfterEach(() => {
  for (const close of closing.splice(0)) close();
});

const clientSecret = 'client-secret-of-the-app';

export async function startOAuthServer(): Promise<OAuthServer> {
  const validTokens = new Set<string>();
  const refreshTokens = new Map<string, 'valid' | 'used'>();
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const secrets = new Set<string>([clientSecret]);
  let waiting: (() => void)[] = [];
  let isStolen = false;
  let last = '';

  const newToken = (kind: string) => {
    const token = `${kind}-${randomBytes(16).toString('hex')}`;
    secrets.add(token);
    return token;
  };
  function issue() {
    const [accessToken, refreshToken] = [newToken('access'), newToken('refresh')];
    validTokens.add(accessToken);
    refreshTokens.set(refreshToken, 'valid');
    last = accessToken;
    return { accessToken, refreshToken };
  }

  const server: OAuthServer = {
    url: '',
    oauth2: { authorizationUrl: '', tokenUrl: '', clientId: 'the-app', clientSecret },
    requests: [],
    calls: [],
    secrets,
    behaviour: { expiresIn: 3600, rotates: true },
    issue,
    latest: () => last,
    revoke: (token) => void validTokens.delete(token),
    sawTheft: () => isStolen,
  };

  function grant(form: Record<string, string>): { status: number; body: Record<string, unknown> } {
    const refused = {
      status: 400,
      body: { error: 'invalid_grant', error_description: JSON.stringify(form) },
    };
    if (form['grant_type'] === 'refresh_token') {
      const presented = form['refresh_token'] ?? '';
      const state = refreshTokens.get(presented);
      if (state === 'used') {
        isStolen = true;
        validTokens.clear();
        refreshTokens.clear();
      }
      if (state !== 'valid') return refused;
      if (server.behaviour.rotates) refreshTokens.set(presented, 'used');
    } else {
      const code = codes.get(form['code'] ?? '');
      codes.delete(form['code'] ?? '');
      const challenge = createHash('sha256')
        .update(form['code_verifier'] ?? '')
        .digest('base64url');
      if (!code || code.challenge !== challenge || code.redirectUri !== form['redirect_uri']) return refused;
      secrets.add(form['code_verifier'] ?? '');
    }
    const { accessToken, refreshToken } = issue();
    const { expiresIn, rotates } = server.behaviour;
    return {
      status: 200,
      body: {
        access_token: accessToken,
        token_type: 'bearer',
        ...((rotates || form['grant_type'] !== 'refresh_token') && { refresh_token: refreshToken }),
        ...(expiresIn !== undefined && { expires_in: expiresIn }),
      },
    };
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = Object.fromEntries(new URLSearchParams(await textOf(request)));
    server.requests.push({ form, authorization: request.headers.authorization });
    const { before, answer, asForm } = server.behaviour;
    await before?.();
    // The client has disconnected: no token is issued.
    if (response.destroyed) return;
    if (answer) {
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
      return;
    }
    const { status, body } = grant(form);
    if (asForm) response.writeHead(status, { 'content-type': 'application/x-www-form-urlencoded' });
    else response.writeHead(status, { 'content-type': 'application/json' });
    response.end(
      asForm ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body),
    );
  }

  /** Consents and redirects to the callback. */
  function authorize(url: URL, response: ServerResponse): void {
    const {
      redirect_uri: redirectUri = '',
      state = '',
      code_challenge: challenge = '',
    } = Object.fromEntries(url.searchParams);
    const isValid =
      url.searchParams.get('code_challenge_method') === 'S256' &&
      url.searchParams.get('response_type') === 'code' &&
      url.searchParams.get('client_id') === 'the-app';
    const back = new URL(redirectUri);
    back.searchParams.set('state', state);
    if (isValid) {
      const code = newToken('code');
      codes.set(code, { challenge, redirectUri });
      back.searchParams.set('code', code);
    } else back.searchParams.set('error', 'invalid_request');
    response.writeHead(302, { location: back.href }).end();
  }

  const http = createServer((request, response) => {
    const url = new URL(request.url ?? '/', server.url);
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (url.pathname === '/token') token(request, response).catch(() => response.destroy());
    else if (url.pathname === '/authorize') authorize(url, response);
    else if (url.pathname === '/gate') {
      // Holds all requests until `count` have arrived.
      waiting.push(() => response.end('go'));
      if (waiting.length < Number(url.searchParams.get('count'))) return;
      for (const go of waiting) go();
      waiting = [];
    } else {
      server.calls.push(bearer);
      response.writeHead(validTokens.has(bearer) ? 200 : 401).end('{}');
    }
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    http.close();
    http.closeAllConnections();
  });
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  server.oauth2.authorizationUrl = `${server.url}/authorize`;
  server.oauth2.tokenUrl = `${server.url}/token`;
  return server;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
