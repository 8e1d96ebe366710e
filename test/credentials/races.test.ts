import { beforeEach, describe, expect, it } from 'vitest';
import { defineConnector, type Secret, type SyncContext, UnauthorizedError } from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { handlesOn, newKey, oauthConnector } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
let server: OAuthServer;
beforeEach(async () => {
  await database.empty();
  server = await startOAuthServer();
});

const refused = new UnauthorizedError('The provider refuses the token.');
const engineWith = (sync: (context: SyncContext) => Promise<never>) =>
  database.engine({
    credentials: { keys },
    connectors: [defineConnector({ provider: 'github', name: 'GitHub', oauth2: server.oauth2, sync })],
  });
const create = (secret: Secret) =>
  database
    .engine({ credentials: { keys } })
    .credentials.create({ tenantId: tenant, provider: 'github', secret });

describe('credentials: a run is refused, and its credential is another by then', () => {
  /** What happens to the credential while its run is under way, and what the connection is afterwards. */
  async function statusAfter(
    secret: Secret,
    meanwhile: (context: SyncContext, credentialId: string) => Promise<unknown>,
  ) {
    const { id: credentialId } = await create(secret);
    const engine = engineWith(async (context) => {
      await context.credentials.get();
      await meanwhile(context, credentialId);
      throw refused;
    });
    const made = await engine.connections.create({ tenantId: tenant, provider: 'github', credentialId });
    await engine.connections.trigger(made.id);
    await engine.drain();
    const events = await sql(`SELECT FROM events WHERE kind = 'connection.needs_auth'`);
    const { status } = await engine.connections.get(made.id);
    expect(events).toHaveLength(status === 'needs_auth' ? 1 : 0);
    return status;
  }
  const key = { type: 'api_key' as const, key: 'old' };
  const replace = (_: SyncContext, id: string) =>
    database.engine({ credentials: { keys } }).credentials.replace(id, { ...key, key: 'new' });

  it('credentials: one that was replaced is not waited for again', async () => {
    expect(await statusAfter(key, replace)).toBe('active');
  });

  it('credentials: nor is one where the connection was given another', async () => {
    const other = await create(key);
    const { connections } = database.engine();
    expect(
      await statusAfter(key, ({ connection }) => connections.setCredential(connection.id, other.id)),
    ).toBe('active');
  });

  it('credentials: one that stayed as it was is waited for, also if it was renewed or saved by the run', async () => {
    expect(await statusAfter(key, async () => {})).toBe('needs_auth');
    await database.empty();
    const renewed = await statusAfter({ type: 'oauth2', ...server.issue() }, async ({ credentials }) =>
      credentials.renew(await credentials.get()),
    );
    expect([renewed, server.requests.length]).toEqual(['needs_auth', 1]);
    await database.empty();
    const saved = { type: 'custom' as const, fields: {} };
    expect(await statusAfter(saved, ({ credentials }) => credentials.save({ token: 1 }))).toBe('needs_auth');
  });
});

describe('credentials: consents that arrive together', () => {
  const redirectUri = 'https://sync.example.com/v1/connections/callback';
  const idle = async () => ({ signals: [] }) as never;

  /** Two ways to the provider for one connection, and back as far as the request for tokens. */
  async function twoOnTheirWay(engine: ReturnType<typeof engineWith>, connectionId: string) {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.behaviour.before = () => held;
    const arriving: Promise<{ error: string | undefined }>[] = [];
    for (let i = 0; i < 2; i++) {
      const { link } = await engine.credentials.authorize({ connectionId, redirectUri });
      const browser = `the session of browser ${i}, which is long enough`;
      const { redirectTo } = await engine.authorizations.start({ link, browser });
      const { headers } = await fetch(redirectTo, { redirect: 'manual' });
      const back = new URL(headers.get('location') ?? '').searchParams;
      const came = { state: back.get('state') ?? '', code: back.get('code') ?? '', browser };
      arriving.push(engine.authorizations.finish(came));
    }
    await until('both are asked for', () => server.requests.length === 2);
    return { arriving, release };
  }

  it('credentials: two consents make one credential, with the tokens of the later', async () => {
    const engine = engineWith(idle);
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    const { arriving, release } = await twoOnTheirWay(engine, id);
    release();
    expect(await Promise.all(arriving)).toEqual([
      expect.objectContaining({ error: undefined }),
      expect.objectContaining({ error: undefined }),
    ]);
    const { credentialId } = await engine.connections.get(id);
    expect(await sql('SELECT id, generation FROM credentials')).toEqual([
      { id: credentialId, generation: 2 },
    ]);
  });

  it('credentials: a credential that was given meanwhile gets the tokens, not the one before', async () => {
    const engine = engineWith(idle);
    const [before, after] = [
      await create({ type: 'oauth2', accessToken: 'a' }),
      await create({ type: 'oauth2', accessToken: 'b' }),
    ];
    const { id } = await engine.connections.create({
      tenantId: tenant,
      provider: 'github',
      credentialId: before.id,
    });
    const { arriving, release } = await twoOnTheirWay(engine, id);
    await engine.connections.setCredential(id, after.id);
    await engine.credentials.remove(before.id);
    release();
    expect(await Promise.all(arriving)).toHaveLength(2);
    expect(await engine.credentials.get(after.id)).toMatchObject({ generation: 3, connections: 1 });
  });
});

describe('credentials: renewals', () => {
  const start = '2025-01-01T12:00:00Z';
  const at = (seconds: number) => new Date(Date.parse(start) + seconds * 1000).toISOString();

  it('credentials: a provider that does not answer does not keep others from being renewed', async () => {
    const [slow, quick] = [server, await startOAuthServer()];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    slow.behaviour.before = () => held;
    const engine = database.engine({ credentials: { keys } });
    await engine.providers.register({ slug: 'quick' });
    const ports = testPorts(start);
    const handle = handlesOn(database, {
      keys,
      ports,
      connectors: [oauthConnector(slow.oauth2), oauthConnector(quick.oauth2, 'quick')],
    });
    const expired = async (from: OAuthServer, provider: string) => {
      const secret = { type: 'oauth2' as const, ...from.issue(), expiresAt: at(-1) };
      return (await engine.credentials.create({ tenantId: tenant, provider, secret })).id;
    };
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 6; i++) waiting.push(handle(await expired(slow, 'github')).get());
    await until('the slow one is asked', () => slow.requests.length > 0);
    const credential = await handle(await expired(quick, 'quick')).get();
    expect(credential).toMatchObject({ accessToken: quick.latest() });
    release();
    await Promise.all(waiting);
  });

  it('credentials: while an endpoint fails, a token that is still good is used without asking each time', async () => {
    const { credentials } = database.engine({ credentials: { keys }, ports: testPorts(at(-3600)) });
    const secret = { type: 'oauth2' as const, ...server.issue(), expiresAt: at(200) };
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const ports = testPorts(start);
    const handle = handlesOn(database, { keys, ports, connectors: [oauthConnector(server.oauth2)] });
    server.behaviour.answer = { status: 503, body: 'busy' };
    for (let i = 0; i < 5; i++)
      expect(await handle(id).get()).toMatchObject({ accessToken: secret.accessToken });
    expect(server.requests).toHaveLength(1);
    ports.advance(31_000);
    server.behaviour.answer = undefined;
    expect(await handle(id).get()).toMatchObject({ accessToken: server.latest(), generation: 2 });
    expect(server.requests).toHaveLength(2);
  });

  it('credentials: however many wait for one that is being renewed, database connections are left', async () => {
    const { id } = await create({ type: 'api_key', key: 'old' });
    const engine = database.engine({ credentials: { keys } });
    const renewing = await database.session();
    await renewing.query('SET search_path TO syncline; BEGIN; SELECT FROM credentials FOR NO KEY UPDATE');
    const waiting = Array.from({ length: 20 }, () =>
      engine.credentials.replace(id, { type: 'api_key', key: 'new' }),
    );
    await until('all connections that one caller may take wait', async () => {
      const rows = await sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return rows.length >= 3;
    });
    // Refused after ten seconds where there is no connection to be had.
    await engine.tenants.list();
    await renewing.query('ROLLBACK');
    await Promise.all(waiting);
    expect(await engine.credentials.get(id)).toMatchObject({ generation: 21 });
  });

  it('credentials: one that ended during the run and cannot be renewed is read again before it is refused', async () => {
    const { credentials } = database.engine({ credentials: { keys }, ports: testPorts(start) });
    const secret = { type: 'oauth2' as const, accessToken: 'old', expiresAt: at(60) };
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const ports = testPorts(start);
    const handle = handlesOn(database, { keys, ports })(id);
    expect(await handle.get()).toMatchObject({ accessToken: 'old' });
    await credentials.replace(id, { ...secret, accessToken: 'new', expiresAt: at(3600) });
    ports.advance(61_000);
    expect(await handle.get()).toMatchObject({ accessToken: 'new' });
    ports.advance(3600_000);
    await expect(handle.get()).rejects.toThrow('there is no refresh token');
  });
});
