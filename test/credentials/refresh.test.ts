import { beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/postgres.ts';
import type { Credential, Secret } from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { until } from '../support/until.ts';
import { type HandleOptions, handlesOn, newKey, oauthConnector } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
let server: OAuthServer;
let issued: { accessToken: string; refreshToken: string };
beforeEach(async () => {
  await database.empty();
  server = await startOAuthServer();
  issued = server.issue();
});

const start = '2025-01-01T12:00:00Z';
const inSeconds = (seconds: number) => new Date(Date.parse(start) + seconds * 1000).toISOString();

/** A credential that expires `expiresIn` seconds after the start and was refreshed an hour before that. */
async function store(expiresIn: number | undefined, more: Partial<Extract<Secret, { type: 'oauth2' }>> = {}) {
  const ports = testPorts(start);
  const { credentials } = database.engine({ credentials: { keys }, ports });
  const expiresAt = expiresIn === undefined ? undefined : inSeconds(expiresIn);
  const secret = { type: 'oauth2' as const, ...issued, expiresAt, ...more };
  const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
  if (expiresIn !== undefined)
    await sql('UPDATE credentials SET refreshed_at = $2 WHERE id = $1', [id, inSeconds(expiresIn - 3600)]);
  return id;
}

/** Credential handles of a new process. */
const startHandles = (more: Partial<HandleOptions> = {}) =>
  handlesOn(database, {
    keys,
    connectors: [oauthConnector(server.oauth2)],
    ports: testPorts(start),
    ...more,
  });

const tokenOf = (credential: Credential) =>
  credential.type === 'oauth2' ? credential.accessToken : undefined;
const rowOf = async (id: string) => {
  const [row] = await sql<{ generation: number; refused_reason: string | null; expires_at: Date }>(
    'SELECT generation, refused_reason, expires_at FROM credentials WHERE id = $1',
    [id],
  );
  return row;
};

describe('credentials: OAuth 2 tokens are refreshed before they expire', () => {
  it.each([
    ['a token that expires in an hour is used', 3600, false],
    ['a token that expires in less than five minutes is refreshed', 299, true],
    ['a token that expires in more than five minutes is used', 301, false],
    ['an expired token is refreshed', -5, true],
  ])('credentials: %s', async (_, expiresIn, isRenewed) => {
    const id = await store(expiresIn);
    const credential = await startHandles()(id).get();
    expect(server.requests).toHaveLength(isRenewed ? 1 : 0);
    expect(tokenOf(credential)).toBe(isRenewed ? server.latest() : issued.accessToken);
    expect(credential.generation).toBe(isRenewed ? 2 : 1);
    if (!isRenewed) return;
    expect(await rowOf(id)).toEqual({
      generation: 2,
      refused_reason: null,
      expires_at: new Date(inSeconds(3600)),
    });
    expect(server.requests[0]?.form).toEqual({
      grant_type: 'refresh_token',
      refresh_token: issued.refreshToken,
      client_id: 'the-app',
      client_secret: 'client-secret-of-the-app',
    });
  });

  it('credentials: a short-lived token is refreshed in the last tenth of its lifetime', async () => {
    const id = await store(7);
    const since = (seconds: number) =>
      sql('UPDATE credentials SET refreshed_at = $2 WHERE id = $1', [id, inSeconds(seconds)]);
    await since(7 - 60);
    expect(tokenOf(await startHandles()(id).get())).toBe(issued.accessToken);
    await since(7 - 80);
    expect(tokenOf(await startHandles()(id).get())).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: a run reads its credential lazily, with one statement', async () => {
    const id = await store(3600);
    const statements: string[] = [];
    const ports = testPorts(start);
    const counting = {
      ...ports,
      query: <T>(statement: string, send: () => Promise<T>) => {
        statements.push(statement);
        return send();
      },
    };
    const handle = startHandles({ ports: counting })(id);
    expect(statements).toHaveLength(0);
    for (let i = 0; i < 5; i++) await handle.get();
    expect(statements).toHaveLength(1);
    // The token expires during the run.
    ports.advance(3400 * 1000);
    expect(tokenOf(await handle.get())).toBe(server.latest());
    const after = statements.length;
    await handle.get();
    expect(statements).toHaveLength(after);
  });

  it('credentials: clientAuthentication "basic" sends client id and secret in the header', async () => {
    const id = await store(-1);
    const oauth2 = { ...server.oauth2, clientAuthentication: 'basic' as const, clientSecret: 'a:b c' };
    await startHandles({ connectors: [oauthConnector(oauth2)] })(id).get();
    const [request] = server.requests;
    expect(request?.authorization).toBe(`Basic ${Buffer.from('the-app:a%3Ab+c').toString('base64')}`);
    expect(Object.keys(request?.form ?? {})).toEqual(['grant_type', 'refresh_token']);
  });

  it.each([
    ['as a form, with expires_in as text', { asForm: true, expiresIn: '7200' }, 7200],
    ['without expires_in', { expiresIn: undefined }, undefined],
    ['with an invalid expires_in', { expiresIn: 'soon' }, undefined],
  ])('credentials: accepts a token response %s', async (_, behaviour, lifetime) => {
    Object.assign(server.behaviour, behaviour);
    const id = await store(-1);
    const credential = await startHandles()(id).get();
    expect(tokenOf(credential)).toBe(server.latest());
    expect((await rowOf(id))?.expires_at).toEqual(
      lifetime === undefined ? null : new Date(inSeconds(lifetime)),
    );
    const refreshed = server.requests.length;
    const next = await startHandles()(id).renew(credential);
    expect(tokenOf(next)).toBe(server.latest());
    expect(server.requests).toHaveLength(refreshed + 1);
    expect(server.sawTheft()).toBe(false);
  });

  it('credentials: without a new refresh token the old one is kept', async () => {
    server.behaviour.rotates = false;
    const id = await store(-1);
    const handle = startHandles()(id);
    const second = await handle.renew(await handle.get());
    expect(second.generation).toBe(3);
    expect(server.requests.map(({ form }) => form['refresh_token'])).toEqual([
      issued.refreshToken,
      issued.refreshToken,
    ]);
  });

  it('credentials: new tokens are committed before they are used', async () => {
    const id = await store(-1);
    const ports = testPorts(start);
    let committed = false;
    const watching = {
      ...ports,
      query: async <T>(statement: string, send: () => Promise<T>) => {
        const answer = await send();
        if (statement === 'COMMIT') committed = true;
        return answer;
      },
    };
    await startHandles({ ports: watching })(id).get();
    expect(committed).toBe(true);
    expect((await rowOf(id))?.generation).toBe(2);
  });

  it.each([2, 7])('credentials: tokens whose commit failed %i times are stored by a retry', async (times) => {
    const id = await store(-1);
    let failures = times;
    const ports = {
      ...testPorts(start),
      // Retry pauses return immediately; the 20 s timeout of the token request never fires.
      sleep: (ms: number) => (ms < 20_000 ? Promise.resolve() : new Promise<void>(() => {})),
      query: async <T>(statement: string, send: () => Promise<T>) => {
        if (statement === 'COMMIT' && failures-- > 0)
          throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
        return send();
      },
    };
    expect(tokenOf(await startHandles({ ports })(id).get())).toBe(server.latest());
    expect((await rowOf(id))?.generation).toBe(2);
    expect(tokenOf(await startHandles()(id).get())).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
  });
});

describe('credentials: one refresh serves all runs', () => {
  it('credentials: 30 runs of a process with an expired token send one request', async () => {
    const id = await store(-1);
    const handle = startHandles();
    const received = await Promise.all(Array.from({ length: 30 }, () => handle(id).get()));
    expect(new Set(received.map(tokenOf))).toEqual(new Set([server.latest()]));
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: while the old token is valid, other runs do not wait for its refresh', async () => {
    const id = await store(60);
    let release = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const [first, second] = [startHandles(), startHandles()];
    const renewing = first(id).get();
    await until('the token is requested', () => server.requests.length === 1);
    expect(tokenOf(await first(id).get())).toBe(issued.accessToken);
    expect(tokenOf(await second(id).get())).toBe(issued.accessToken);
    release();
    expect(tokenOf(await renewing)).toBe(server.latest());
    expect(server.latest()).not.toBe(issued.accessToken);
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: with an expired token, other runs and processes wait for its refresh', async () => {
    const id = await store(-1);
    let release = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const handles = [startHandles(), startHandles(), startHandles()].map((handle) => handle(id));
    const all = Promise.all(handles.map((handle) => handle.get()));
    await until('the others wait for the row', async () => {
      const [row] = await sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return row?.n === 2 && server.requests.length === 1;
    });
    release();
    expect((await all).map(tokenOf)).toEqual([1, 2, 3].map(() => server.latest()));
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: a process runs at most four refreshes in parallel', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) {
      issued = server.issue();
      ids.push(await store(-1));
    }
    let [active, maxActive] = [0, 0];
    server.behaviour.before = async () => {
      maxActive = Math.max(maxActive, ++active);
      await new Promise(setImmediate);
      active--;
    };
    const handle = startHandles();
    const received = await Promise.all(ids.map((id) => handle(id).get()));
    expect(new Set(received.map(tokenOf)).size).toBe(9);
    expect(maxActive).toBeLessThanOrEqual(4);
    expect(server.sawTheft()).toBe(false);
  });

  it('credentials: an aborted run stops waiting, and the refresh continues', async () => {
    const id = await store(-1);
    let release = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const abort = new AbortController();
    const handle = startHandles();
    const waiting = handle(id, abort.signal).get();
    await until('the token is requested', () => server.requests.length === 1);
    const other = handle(id).get();
    abort.abort(new Error('aborted by the test'));
    await expect(waiting).rejects.toThrow('aborted by the test');
    release();
    expect(tokenOf(await other)).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
    await expect(handle(id, abort.signal).get()).rejects.toThrow('aborted by the test');
  });
});

describe('credentials: a token that the provider rejects', () => {
  it('credentials: renew() returns a newer token if there is one, else refreshes', async () => {
    const id = await store(3600);
    const [first, second] = [startHandles()(id), startHandles()(id)];
    const [firstToken, secondToken] = [await first.get(), await second.get()];
    expect(tokenOf(await first.renew(firstToken))).toBe(server.latest());
    expect(tokenOf(await second.renew(secondToken))).toBe(server.latest());
    expect(tokenOf(await second.get())).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: renew() of a credential that cannot be refreshed fails with the reason', async () => {
    const without = await store(-1, { refreshToken: undefined });
    await expect(startHandles()(without).get()).rejects.toThrow('there is no refresh token');
    const still = await store(60, { refreshToken: undefined });
    expect(tokenOf(await startHandles()(still).get())).toBe(issued.accessToken);
    const id = await store(-1);
    await expect(startHandles({ connectors: [] })(id).get()).rejects.toThrow('does not define OAuth');
    const { credentials } = database.engine({ credentials: { keys } });
    const key = await credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: { type: 'api_key', key: 'k' },
    });
    const handle = startHandles()(key.id);
    await expect(handle.renew(await handle.get())).rejects.toMatchObject({
      name: 'UnauthorizedError',
      message: 'The provider rejected the credential.',
    });
    await expect(startHandles()(undefined).get()).rejects.toThrow('The connection has no credential.');
    expect(server.requests).toHaveLength(0);
  });

  it.each([
    ['400 invalid_grant', 400, '{"error":"invalid_grant"}', 'answered 400 (invalid_grant).'],
    [
      '200 with an error in it',
      200,
      'error=bad_refresh_token&error_description=x',
      'answered 200 (bad_refresh_token).',
    ],
    [
      '200 of Slack',
      200,
      '{"ok":false,"error":"invalid_refresh_token"}',
      'answered 200 (invalid_refresh_token).',
    ],
    ['401 with a code', 401, '{"error":"token_revoked"}', 'answered 401 (token_revoked).'],
  ])(
    'credentials: %s marks the credential as refused, and no further request is sent',
    async (_, status, body, reason) => {
      const id = await store(-1);
      server.behaviour.answer = { status, body };
      const { log, lines } = recordingLogger();
      await expect(startHandles({ log })(id).get()).rejects.toMatchObject({
        name: 'UnauthorizedError',
        message: expect.stringContaining(reason),
      });
      expect((await rowOf(id))?.refused_reason).toContain(reason);
      expect(
        await sql(
          `SELECT actor, detail ->> 'credential' AS id FROM events WHERE kind = 'credential.refused'`,
        ),
      ).toEqual([{ actor: 'syncline', id }]);
      expect(lines).toHaveLength(1);
      server.behaviour.answer = undefined;
      const retries: (() => Promise<Credential>)[] = [
        () => startHandles()(id).get(),
        () => startHandles()(id).renew({ id, generation: 1 } as Credential),
      ];
      for (const attempt of retries) await expect(attempt()).rejects.toThrow(reason);
      expect(server.requests).toHaveLength(1);
      // Replacing the credential clears the refusal.
      const { credentials } = database.engine({ credentials: { keys } });
      await credentials.replace(id, { type: 'oauth2', ...server.issue() });
      expect(tokenOf(await startHandles()(id).get())).toBe(server.latest());
    },
  );

  it.each([
    ['503', 503, 'busy', 'answered 503'],
    ['429', 429, '{"error":"slow_down"}', 'answered 429'],
    ['a redirect', 302, '', 'answered 302'],
    ['a response without a token', 200, '{"token_type":"bearer"}', 'answered 200'],
    ['400 without a code', 400, '<html>', 'answered 400'],
    ['401 without a code', 401, 'nothing', 'answered 401'],
    ["a firewall's 403", 403, '<html>Request blocked</html>', 'answered 403'],
    ["a firewall's 403 with a code", 403, '{"error":"access_denied"}', 'answered 403 (access_denied)'],
    [
      'an internal error of Slack',
      200,
      '{"ok":false,"error":"internal_error"}',
      'answered 200 (internal_error)',
    ],
    ['an unknown error code', 400, '{"error":"maintenance"}', 'answered 400 (maintenance)'],
    ['invalid_grant with status 500', 500, '{"error":"invalid_grant"}', 'answered 500 (invalid_grant)'],
    ['an invalid client', 401, '{"error":"invalid_client"}', "Check the connector's client id and secret"],
    [
      'an invalid client at Slack',
      200,
      '{"ok":false,"error":"bad_client_secret"}',
      'rejects this OAuth client',
    ],
  ])('credentials: %s is a transient error', async (_, status, body, reason) => {
    const id = await store(-1);
    server.behaviour.answer = { status, body };
    await expect(startHandles()(id).get()).rejects.toMatchObject({
      name: 'TransientError',
      message: expect.stringContaining(reason),
    });
    expect((await rowOf(id))?.refused_reason).toBeNull();
    server.behaviour.answer = undefined;
    expect(tokenOf(await startHandles()(id).get())).toBe(server.latest());
  });

  it('credentials: if the refresh fails while the old token is valid, the old one is used', async () => {
    const id = await store(60);
    server.behaviour.answer = { status: 500, body: '' };
    expect(tokenOf(await startHandles()(id).get())).toBe(issued.accessToken);
  });

  it('credentials: the error for an unreachable endpoint contains its host but no request data', async () => {
    const id = await store(-1);
    const host = `127.0.0.1:${await freePort()}`;
    const oauth2 = { ...server.oauth2, tokenUrl: `http://${host}/token?secret=in-the-url` };
    const failure = await startHandles({ connectors: [oauthConnector(oauth2)] })(id)
      .get()
      .then(
        () => undefined,
        (error: Error) => error,
      );
    expect([failure?.name, failure?.cause]).toEqual(['TransientError', undefined]);
    expect(failure?.message).toBe(`The token request to ${host} failed: ECONNREFUSED.`);
  });

  it('credentials: a token request times out after 20 s', async () => {
    const id = await store(-1);
    server.behaviour.before = () => new Promise(() => {});
    const ports = testPorts(start);
    const waiting = startHandles({ ports })(id).get();
    await until('the token is requested', () => server.requests.length === 1);
    expect(ports.sleeps).toEqual([20_000]);
    ports.wake();
    await expect(waiting).rejects.toThrow('no response within 20 s');
  });

  it('credentials: an error that echoes the refresh token is redacted', async () => {
    issued = { ...issued, refreshToken: 'my_secret_token' };
    const id = await store(-1);
    server.behaviour.answer = { status: 400, body: '{"error":"my_secret_token"}' };
    const failure = await startHandles()(id)
      .get()
      .then(
        () => undefined,
        (error: Error) => error,
      );
    expect(failure?.message).not.toContain('my_secret_token');
  });
});

describe('credentials: stored credentials that cannot be decrypted', () => {
  it('credentials: a missing key is a transient error, a moved value a permanent one', async () => {
    const [id, other] = [await store(3600), await store(3600)];
    await expect(startHandles({ keys: [newKey('k2')] })(id).get()).rejects.toMatchObject({
      name: 'TransientError',
      message: expect.stringContaining('SYNCLINE_CREDENTIALS_KEYS'),
    });
    await sql(
      'UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE id = $2) WHERE id = $1',
      [id, other],
    );
    await expect(startHandles()(id).get()).rejects.toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining('cannot be decrypted'),
    });
  });
});

describe('credentials: connectors that refresh tokens themselves', () => {
  it('credentials: save() replaces the fields of custom credentials only', async () => {
    const { credentials } = database.engine({ credentials: { keys } });
    const secret: Secret = { type: 'custom', fields: { token: 1 } };
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const handle = startHandles()(id);
    const before = await handle.get();
    await handle.save({ token: 2 });
    expect(await handle.get()).toEqual({ id, generation: 2, type: 'custom', fields: { token: 2 } });
    expect(await startHandles()(id).renew(before)).toMatchObject({ fields: { token: 2 } });
    await expect(handle.save([] as never)).rejects.toThrow('secret.fields must be an object');
    const oauth = await store(3600);
    await expect(startHandles()(oauth).save({})).rejects.toThrow('this one is of kind oauth2');
  });
});
