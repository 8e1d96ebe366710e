import { Hono } from 'hono';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HttpEnv } from '../../src/http/context.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { ownUrl } from '../../src/http/own-url.ts';
import type { SynclineOptions } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { newKey, oauthConnector } from '../credentials/handles.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { raw, startService } from './service.ts';

const database = useDatabase();
beforeEach(() => database.empty());

const oauth2 = {
  authorizationUrl: 'https://provider.example/authorize',
  tokenUrl: 'https://provider.example/token',
  clientId: 'the-app',
};

/** Without allowed hosts, as when mounted in another server: every Host header is accepted. */
async function serve(server: SynclineOptions['server'] = {}) {
  const localLogin = createLocalLogin(systemPorts.monotonicMs);
  const service = await startService(database, {
    localLogin,
    engine: { server, credentials: { keys: [newKey()] }, connectors: [oauthConnector(oauth2)] },
  });
  const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
  const authorize = async (host: string, more: Record<string, string> = {}, headers = '') => {
    const body = JSON.stringify({ connection_id: id, ...more });
    const answer = await raw(
      service.url,
      `POST /v1/connections/authorize HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${service.key}\r\n${headers}content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    const [head = '', text = ''] = answer.split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), body: JSON.parse(text.slice(text.indexOf('{'))) };
  };
  return { ...service, localLogin, authorize, port: new URL(service.url).port };
}

const forwarded = 'x-forwarded-host: evil.example\r\nx-forwarded-proto: https\r\n';

describe('links: the Host header never controls redirects', () => {
  it('links: without publicUrl, a listener on another address than loopback gets no links', async () => {
    const { config } = database.engine();
    const app = new Hono<HttpEnv>().get('/', (c) => {
      c.set('base', '');
      return c.text(ownUrl(c, config.server));
    });
    app.onError((error, c) => c.text(error.message, 409));
    const linkAt = async (localAddress: string) => {
      const headers = { host: 'localhost' };
      const response = await app.request('/', { headers }, { socket: { localAddress, localPort: 8080 } });
      return response.text();
    };
    expect(await linkAt('127.0.0.1')).toBe('http://localhost:8080');
    expect(await linkAt('10.0.0.5')).toContain('server.publicUrl must be set');
  });

  it('links: without publicUrl, only loopback hosts get links, with the listening port', async () => {
    const { authorize, port } = await serve();
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '10.0.0.1',
      'a.localhost',
    ]) {
      const { status, body } = await authorize(host);
      expect([host, status, body.detail]).toEqual([
        host,
        409,
        'server.publicUrl must be set: the public URL of the service is unknown.',
      ]);
      expect(body.hint).toContain('SYNCLINE_SERVER_PUBLIC_URL');
    }
    for (const [host, own] of [
      [`localhost:${port}`, `http://localhost:${port}`],
      ['localhost:1', `http://localhost:${port}`],
      ['127.0.0.1', `http://127.0.0.1:${port}`],
    ] as const) {
      const { body } = await authorize(host, {}, forwarded);
      expect(body.authorization_url).toMatch(new RegExp(`^${own}/v1/connections/consent\\?link=`));
    }
    expect((await authorize('localhost', { return_to: 'http://evil.example/' })).status).toBe(400);
    expect((await authorize('localhost', { return_to: 'http://localhost:1/' })).status).toBe(400);
    expect((await authorize('localhost', { return_to: `http://localhost:${port}/` })).status).toBe(200);
  });

  it('links: with publicUrl, the Host header changes neither links nor allowed return URLs', async () => {
    const { authorize } = await serve({ publicUrl: 'https://sync.example.com' });
    for (const host of ['evil.example', 'sync.example.com', 'localhost']) {
      const { body } = await authorize(host, { return_to: 'https://sync.example.com/there' }, forwarded);
      expect(body.authorization_url).toMatch(
        /^https:\/\/sync\.example\.com\/v1\/connections\/consent\?link=/,
      );
      expect((await authorize(host, { return_to: `https://${host}.evil.example/` }, forwarded)).status).toBe(
        400,
      );
    }
    expect((await authorize('evil.example', { return_to: 'http://evil.example/' })).status).toBe(400);
  });

  it('links: the login redirects to a relative path, regardless of Host header and path', async () => {
    const { url, localLogin } = await serve();
    const locationOf = async (target: string) => {
      const answer = await raw(
        url,
        `GET ${target} HTTP/1.1\r\nhost: evil.example\r\n${forwarded}connection: close\r\n\r\n`,
      );
      return /^location: (.*)$/im.exec(answer)?.[1];
    };
    expect(await locationOf(`//evil.example/login?token=${localLogin.issue()}`)).toBeUndefined();
    expect(await locationOf(`/login?token=${localLogin.issue()}`)).toBe('/');
  });
});
