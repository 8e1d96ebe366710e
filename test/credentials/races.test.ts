import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Connector,
  defineConnector,
  type Ports,
  type Secret,
  type SyncContext,
  systemPorts,
  UnauthorizedError,
} from '../../src/index.ts';
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

const rejection = new UnauthorizedError('The provider refuses the token.');
const engineWith = (sync: Connector['sync']) =>
  database.engine({
    credentials: { keys },
    connectors: [defineConnector({ provider: 'github', name: 'GitHub', oauth2: server.oauth2, sync })],
  });
const untilLocked = (id: string) =>
  until('the credential is locked', async () => {
    const found = await sql('SELECT FROM credentials WHERE id = $1 FOR UPDATE SKIP LOCKED', [id]);
    return found.length === 0;
  });
const create = (secret: Secret) =>
  database
    .engine({ credentials: { keys } })
    .credentials.create({ tenantId: tenant, provider: 'github', secret });

describe('credentials: a run is rejected after its credential has changed', () => {
  /** Changes the credential during a run that is rejected; later runs succeed. Returns the connection's status. */
  async function statusAfter(
    secret: Secret,
    change: (context: SyncContext, credentialId: string) => Promise<unknown>,
  ) {
    const { id: credentialId } = await create(secret);
    let runs = 0;
    const engine = engineWith(async (context) => {
      await context.credentials.get();
      if (runs++ > 0) return { signals: [] };
      await change(context, credentialId);
      throw rejection;
    });
    const connection = await engine.connections.create({
      tenantId: tenant,
      provider: 'github',
      credentialId,
    });
    await engine.connections.trigger(connection.id);
    await engine.drain();
    const events = await sql(`SELECT FROM events WHERE kind = 'connection.needs_auth'`);
    const { status } = await engine.connections.get(connection.id);
    expect(events).toHaveLength(status === 'needs_auth' ? 1 : 0);
    return status;
  }
  const key = { type: 'api_key' as const, key: 'old' };
  const replace = (_: SyncContext, id: string) =>
    database.engine({ credentials: { keys } }).credentials.replace(id, { ...key, key: 'new' });

  it('credentials: after a replacement the connection stays active', async () => {
    expect(await statusAfter(key, replace)).toBe('active');
  });

  it('credentials: a run that is rejected before a replacement commits leaves the connection active', async () => {
    const { id: credentialId } = await create(key);
    let hasEnded = () => {};
    const ended = new Promise<void>((resolve) => {
      hasEnded = resolve;
    });
    const ports: Ports = {
      ...systemPorts,
      query: async (statement, send) => {
        if (statement.includes('SET kind =')) await ended;
        return send();
      },
    };
    const replacing = database.engine({ ports, credentials: { keys } });
    let replacement: Promise<unknown> | undefined;
    const engine = engineWith(async () => {
      if (replacement) return { signals: [] };
      replacement = replacing.credentials.replace(credentialId, { ...key, key: 'new' });
      await untilLocked(credentialId);
      throw rejection;
    });
    const connection = await engine.connections.create({
      tenantId: tenant,
      provider: 'github',
      credentialId,
    });
    await engine.connections.trigger(connection.id);
    await engine.drain();
    expect(await sql('SELECT status FROM connections')).toEqual([{ status: 'needs_auth' }]);
    hasEnded();
    await replacement;
    expect(await sql('SELECT status FROM connections')).toEqual([{ status: 'active' }]);
    expect(await engine.drain()).toMatchObject({ succeeded: 1 });
  });

  it('credentials: after another credential was attached the connection stays active', async () => {
    const other = await create(key);
    const { connections } = database.engine();
    expect(
      await statusAfter(key, ({ connection }) => connections.setCredential(connection.id, other.id)),
    ).toBe('active');
  });

  it('credentials: an unchanged, refreshed or saved credential sets needs_auth', async () => {
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

describe('credentials: concurrent consents', () => {
  const redirectUri = 'https://sync.example.com/v1/connections/callback';
  const emptySync = async () => ({ signals: [] });

  /** Two authorizations of one connection, blocked at their token requests. */
  async function startTwoConsents(engine: ReturnType<typeof engineWith>, connectionId: string) {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.behaviour.before = () => held;
    const finishing: Promise<{ error: string | undefined }>[] = [];
    for (let i = 0; i < 2; i++) {
      const { link } = await engine.credentials.authorize({ connectionId, redirectUri });
      const browser = `the session of browser ${i}, which is long enough`;
      const { redirectTo } = await engine.oauth.start({ link, browser });
      const { headers } = await fetch(redirectTo, { redirect: 'manual' });
      const back = new URL(headers.get('location') ?? '').searchParams;
      const callback = { state: back.get('state') ?? '', code: back.get('code') ?? '', browser };
      finishing.push(engine.oauth.complete(callback));
    }
    await until('both tokens are requested', () => server.requests.length === 2);
    return { finishing, release };
  }

  it('credentials: two consents create one credential with the tokens of the later', async () => {
    const engine = engineWith(emptySync);
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    const { finishing, release } = await startTwoConsents(engine, id);
    release();
    expect(await Promise.all(finishing)).toEqual([
      expect.objectContaining({ error: undefined }),
      expect.objectContaining({ error: undefined }),
    ]);
    const { credentialId } = await engine.connections.get(id);
    expect(await sql('SELECT id, generation FROM credentials')).toEqual([
      { id: credentialId, generation: 2 },
    ]);
  });

  it('credentials: the tokens go to a credential attached meanwhile, not to the previous one', async () => {
    const engine = engineWith(emptySync);
    const [before, after] = [
      await create({ type: 'oauth2', accessToken: 'a' }),
      await create({ type: 'oauth2', accessToken: 'b' }),
    ];
    const { id } = await engine.connections.create({
      tenantId: tenant,
      provider: 'github',
      credentialId: before.id,
    });
    const { finishing, release } = await startTwoConsents(engine, id);
    await engine.connections.setCredential(id, after.id);
    await engine.credentials.delete(before.id);
    release();
    expect(await Promise.all(finishing)).toHaveLength(2);
    expect(await engine.credentials.get(after.id)).toMatchObject({ generation: 3, connections: 1 });
  });
});

describe('credentials: refreshes', () => {
  const start = '2025-01-01T12:00:00Z';
  const at = (seconds: number) => new Date(Date.parse(start) + seconds * 1000).toISOString();

  it('credentials: a provider that does not respond does not block refreshes of others', async () => {
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
    await until('the slow provider has a request', () => slow.requests.length > 0);
    const credential = await handle(await expired(quick, 'quick')).get();
    expect(credential).toMatchObject({ accessToken: quick.latest() });
    release();
    await Promise.all(waiting);
  });

  it('credentials: after a failed refresh a valid token is used for 30 s without a request', async () => {
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

  it('credentials: 20 callers waiting for a locked credential leave database connections free', async () => {
    const { id } = await create({ type: 'api_key', key: 'old' });
    const engine = database.engine({ credentials: { keys } });
    const renewing = await database.session();
    await renewing.query('SET search_path TO syncline; BEGIN; SELECT FROM credentials FOR NO KEY UPDATE');
    const waiting = Array.from({ length: 20 }, () =>
      engine.credentials.replace(id, { type: 'api_key', key: 'new' }),
    );
    await until('all connections of one caller wait', async () => {
      const rows = await sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return rows.length >= 3;
    });
    // Without a free connection this would fail after ten seconds.
    await engine.tenants.list();
    await renewing.query('ROLLBACK');
    await Promise.all(waiting);
    expect(await engine.credentials.get(id)).toMatchObject({ generation: 21 });
  });

  it('credentials: an expired token without refresh token is read again before the run fails', async () => {
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
