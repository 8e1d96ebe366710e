import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { hostRule } from '../../src/http/hosts.ts';
import { defineConnector, type SynclineOptions } from '../../src/index.ts';
import { type Service, startService } from '../http/service.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { newKey } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';
import { fieldsOf, newVisitor, type Visitor } from './visitor.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
const app = 'https://app.example.com';
let server: OAuthServer;
let visitor: Visitor;
beforeEach(async () => {
  visitor = newVisitor();
  await database.empty();
  server = await startOAuthServer();
});

const ports = () => testPorts('2025-01-01T12:00:00Z');
const serve = (engine: SynclineOptions = {}): Promise<Service> =>
  startService(database, {
    hosts: hostRule('127.0.0.1'),
    engine: {
      credentials: { keys },
      server: { returnOrigins: [app] },
      connectors: [
        defineConnector({
          provider: 'github',
          name: 'GitHub',
          oauth2: {
            ...server.oauth2,
            scopes: ['repo', 'read:user'],
            // These do not override state and code_challenge.
            authorizationParameters: { access_type: 'offline', state: 'mine', code_challenge: 'mine' },
          },
          sync: async () => ({ signals: [] }),
        }),
      ],
      ...engine,
    },
  });

const begin = async ({ call }: Service, json: Record<string, unknown>) => {
  const answer = await call('/v1/connections/authorize', { method: 'POST', json });
  return { ...answer, url: String(answer.body['authorization_url']) };
};
/** The query of the redirect to the provider. */
const providerQueryOf = async (visitor: Visitor, link: string) =>
  new URL((await visitor.proceed(link)).location).searchParams;
const callbackOf = ({ url }: Service, query: string) => `${url}/v1/connections/callback?${query}`;

describe('credentials: the OAuth authorization flow', () => {
  it('credentials: consent creates a credential, activates the connection and redirects', async () => {
    const service = await serve();
    const { syncline, url } = service;
    const { id } = await syncline.connections.create({
      tenantId: tenant,
      provider: 'github',
      externalId: 'acme',
    });
    await sql(`UPDATE connections SET status = 'needs_auth'`);
    const started = await begin(service, { connection_id: id, return_to: `${app}/settings?tab=sync#here` });
    expect(started.status).toBe(200);
    expect(started.url).toMatch(/\/v1\/connections\/consent\?link=[\w-]{43}$/);
    expect(started.url).toMatch(new RegExp(`=${started.body['link']}$`));
    const providerUrl = (await visitor.proceed(started.url)).location;
    const providerQuery = new URL(providerUrl).searchParams;
    expect(Object.fromEntries(providerQuery)).toEqual({
      access_type: 'offline',
      scope: 'repo read:user',
      response_type: 'code',
      client_id: 'the-app',
      redirect_uri: `${url}/v1/connections/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const arrived = await visitor.visit((await visitor.visit(providerUrl)).location);
    expect([arrived.status, arrived.location]).toEqual([
      303,
      `${app}/settings?tab=sync&connection_id=${id}&status=authorized#here`,
    ]);
    const connection = await syncline.connections.get(id);
    expect(connection).toMatchObject({ status: 'active', credentialId: expect.any(String) });
    expect(await syncline.credentials.get(connection.credentialId as string)).toMatchObject({
      kind: 'oauth2',
      name: 'acme',
      connections: 1,
    });
    const events = await sql<{ kind: string; actor: string }>('SELECT kind, actor FROM events ORDER BY id');
    expect(await sql('SELECT connection_id, status, priority FROM sync_jobs')).toEqual([
      { connection_id: id, status: 'queued', priority: 10 },
    ]);
    expect(events.slice(-2)).toEqual([
      { kind: 'credential.authorized', actor: 'key:tests' },
      { kind: 'connection.resumed', actor: 'key:tests' },
    ]);
    const [request] = server.requests;
    expect(request?.form).toMatchObject({
      grant_type: 'authorization_code',
      redirect_uri: `${url}/v1/connections/callback`,
      client_secret: 'client-secret-of-the-app',
    });
    const hash = createHash('sha256')
      .update(request?.form['code_verifier'] ?? '')
      .digest('base64url');
    expect(hash).toBe(providerQuery.get('code_challenge'));
  });

  it('credentials: a second consent replaces shared tokens; without return_to it shows a page', async () => {
    const service = await serve();
    const { syncline } = service;
    const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const first = await begin(service, { connection_id: id });
    const page = await visitor.visit(await visitor.consent(first.url));
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
    expect(page.text).toContain('The account is connected.');
    expect(page.text).not.toMatch(/<script/);
    const { credentialId } = await syncline.connections.get(id);
    const other = await syncline.connections.create({ tenantId: tenant, provider: 'github', credentialId });
    await sql(`UPDATE connections SET status = 'needs_auth'`);
    const second = await begin(service, { connection_id: id });
    await visitor.visit(await visitor.consent(second.url));
    expect(await syncline.connections.get(other.id)).toMatchObject({ status: 'active', credentialId });
    expect(await syncline.credentials.get(credentialId as string)).toMatchObject({
      generation: 2,
      connections: 2,
    });
    expect(await sql('SELECT FROM credentials')).toHaveLength(1);
    // A third consent, for an active connection, queues a run.
    await sql('DELETE FROM sync_jobs');
    await visitor.visit(await visitor.consent((await begin(service, { connection_id: id })).url));
    expect(await sql('SELECT connection_id, status FROM sync_jobs')).toEqual([
      { connection_id: id, status: 'queued' },
    ]);
  });

  it('credentials: redirect_uri uses server.publicUrl', async () => {
    const service = await serve({ server: { publicUrl: 'https://sync.example.com/base/' } });
    const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const { url } = await begin(service, { connection_id: id, return_to: 'https://sync.example.com/there' });
    expect(url).toMatch(/^https:\/\/sync\.example\.com\/base\/v1\/connections\/consent\?link=/);
    // As forwarded by a TLS proxy that strips the prefix.
    const proxied = url.replace('https://sync.example.com/base', service.url);
    const page = await visitor.visit(proxied);
    const cookie = page.headers.getSetCookie();
    expect(cookie).toEqual([
      expect.stringMatching(
        /^__Host-syncline_consent=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
    const sent = await visitor.visit(`${service.url}/v1/connections/consent`, {
      form: fieldsOf(page.text),
      headers: { origin: 'https://sync.example.com', cookie: cookie[0]?.split(';')[0] ?? '' },
    });
    expect(sent.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-syncline_consent_[0-9a-f]{16}=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
    expect(new URL(sent.location).searchParams.get('redirect_uri')).toBe(
      'https://sync.example.com/base/v1/connections/callback',
    );
  });

  it('credentials: a state is valid once, for ten minutes, and only if it was issued', async () => {
    const clock = ports();
    const service = await serve({ ports: clock });
    const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const back = await visitor.consent((await begin(service, { connection_id: id })).url);
    // A HEAD request does not consume the state.
    expect(
      (await service.call(back.replace(service.url, ''), { method: 'HEAD', key: undefined })).status,
    ).toBe(200);
    expect((await visitor.visit(back)).status).toBe(200);
    const again = await visitor.visit(back);
    expect([again.status, again.text]).toEqual([410, expect.stringContaining('was already used')]);
    const asProgram = await visitor.visit(back, { headers: { accept: 'application/json' } });
    expect(JSON.parse(asProgram.text)).toMatchObject({ code: 'EXPIRED' });

    const late = await visitor.consent((await begin(service, { connection_id: id })).url);
    clock.advance(10 * 60 * 1000);
    expect((await visitor.visit(late)).status).toBe(410);
    const code = new URL(back).searchParams.get('code');
    const foreign = callbackOf(service, `state=${'x'.repeat(43)}&code=${code}`);
    expect((await visitor.visit(foreign)).status).toBe(410);
    for (const wrong of ['', 'state=short&code=a', `state=${'x'.repeat(44)}&code=a`, 'code=a'])
      expect((await visitor.visit(callbackOf(service, wrong))).status).toBe(400);
    expect(server.requests).toHaveLength(1);
    expect(await sql('SELECT FROM credentials')).toHaveLength(1);
  });

  it('credentials: a code with the state of another authorization is rejected by its challenge', async () => {
    const service = await serve();
    const { connections } = service.syncline;
    const [mine, theirs] = [
      await connections.create({ tenantId: tenant, provider: 'github' }),
      await connections.create({ tenantId: tenant, provider: 'github' }),
    ];
    const stolen = new URL(await visitor.consent((await begin(service, { connection_id: theirs.id })).url));
    const state =
      (await providerQueryOf(visitor, (await begin(service, { connection_id: mine.id })).url)).get('state') ??
      '';
    stolen.searchParams.set('state', state);
    const arrived = await visitor.visit(stolen.href);
    expect(arrived.text).toContain('returned an error (invalid_grant)');
    expect(await sql('SELECT FROM credentials')).toEqual([]);
  });

  it('credentials: of an error response only a known error code is passed on', async () => {
    const service = await serve();
    const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const stateOf = async (more = {}) =>
      (await providerQueryOf(visitor, (await begin(service, { connection_id: id, ...more })).url)).get(
        'state',
      ) ?? '';
    const callback = (state: string, query: string) =>
      visitor.visit(callbackOf(service, `state=${state}&${query}`));
    const denied = await callback(await stateOf(), 'error=access_denied&error_description=%3Cscript%3E');
    expect(denied.text).toContain('Access was denied');
    const strange = await callback(await stateOf(), 'error=%3Cscript%3Ealert(1)%3C/script%3E');
    expect(strange.text).toContain('(provider_error)');
    expect(denied.text + strange.text).not.toMatch(/<script|alert/);
    const sent = await callback(await stateOf({ return_to: `${app}/x` }), 'error=access_denied&foo=bar');
    expect(sent.headers.get('location')).toBe(
      `${app}/x?connection_id=${id}&status=failed&error=access_denied`,
    );
    const state = await stateOf();
    server.behaviour.answer = { status: 503, body: 'busy' };
    expect((await callback(state, 'code=abc')).text).toContain('(temporarily_unavailable)');
    expect(await sql('SELECT FROM credentials')).toEqual([]);
  });

  it('credentials: rejects return_to of other origins and connectors without OAuth', async () => {
    const service = await serve();
    const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
    for (const wrong of [
      'https://evil.example/settings',
      'https://app.example.com.evil.example/',
      'https://app.example.com@evil.example/',
      'http://app.example.com/',
      'javascript:alert(1)',
      '//evil.example',
      '/settings',
    ]) {
      const { status, body } = await begin(service, { connection_id: id, return_to: wrong });
      expect([status, (body['errors'] as { field: string }[])[0]?.field], wrong).toEqual([400, 'return_to']);
    }
    expect((await begin(service, { connection_id: id, return_to: `${service.url}/here` })).status).toBe(200);
    await service.syncline.providers.register({ slug: 'plain' });
    const plain = await service.syncline.connections.create({ tenantId: tenant, provider: 'plain' });
    expect((await begin(service, { connection_id: plain.id })).body).toMatchObject({
      code: 'CONFLICT',
      detail: 'Connector "plain" does not define OAuth.',
    });
    expect(await sql('SELECT FROM authorizations WHERE connection_id = $1', [plain.id])).toEqual([]);
  });

  it('credentials: at most ten authorizations are pending; the janitor deletes expired ones', async () => {
    const clock = ports();
    const service = await serve({ ports: clock });
    const { id } = await service.syncline.connections.create({ tenantId: tenant, provider: 'github' });
    for (let i = 0; i < 13; i++) {
      clock.advance(1000);
      await begin(service, { connection_id: id });
    }
    expect(await sql('SELECT FROM authorizations')).toHaveLength(10);
    clock.advance(10 * 60 * 1000);
    const janitor = database.engine({ ports: clock });
    const asleep = clock.asleep();
    await janitor.start({ roles: ['janitor'] });
    await asleep;
    expect(await sql('SELECT FROM authorizations')).toEqual([]);
  });

  it('credentials: no secret appears in logs, responses or columns', async () => {
    const { log, lines } = recordingLogger('trace');
    const service = await serve({ logger: log });
    const { syncline, call } = service;
    const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github' });
    const answers: string[] = [];
    const record = (...all: { text: string; headers: Headers }[]) =>
      answers.push(...all.map(({ text, headers }) => `${text} ${JSON.stringify([...headers])}`));
    const started = await begin(service, { connection_id: id });
    const back = await visitor.consent(started.url);
    record(await visitor.visit(back), await visitor.visit(back));
    const { credentialId } = await syncline.connections.get(id);
    const put = {
      method: 'PUT',
      json: { secret: { type: 'oauth2', access_token: 'x', ...{ wrong: server.latest() } } },
    };
    record(await call(`/v1/credentials/${credentialId}`, put));
    for (const path of [
      '/v1/credentials',
      `/v1/credentials/${credentialId}`,
      '/v1/connections',
      '/v1/audit',
      '/v1/system',
    ])
      record(await call(path));
    server.behaviour.answer = {
      status: 400,
      body: JSON.stringify({ error: 'invalid_grant', echo: [...server.secrets] }),
    };
    await sql("UPDATE credentials SET expires_at = now() - interval '1 minute'");
    await syncline.connections.trigger(id);
    await syncline.drain();
    record(await call(`/v1/jobs?connection_id=${id}`));
    const rows: string[] = [];
    for (const table of ['credentials', 'authorizations', 'connections', 'events', 'sync_jobs', 'attempts'])
      for (const { row } of await sql<{ row: string }>(`SELECT t::text AS row FROM ${table} t`))
        rows.push(row);
    const everything = [JSON.stringify(lines), ...answers, ...rows].join('\n');
    expect(everything.length).toBeGreaterThan(3000);
    const keyText = (keys[0] ?? '').slice(3);
    expect(server.secrets.size).toBeGreaterThan(4);
    for (const secret of [...server.secrets, keyText]) expect(everything).not.toContain(secret);
  });
});
