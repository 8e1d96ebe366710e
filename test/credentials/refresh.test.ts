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

/** A credential that expires so many seconds after the start, and was renewed an hour before that. */
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

/** Each is like a process of its own. */
const processWith = (more: Partial<HandleOptions> = {}) =>
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

describe('credentials: OAuth 2 tokens are renewed ahead of their end', () => {
  it.each([
    ['an hour before the end the old one is used', 3600, false],
    ['five minutes before the end it is renewed', 299, true],
    ['a little more than five minutes before, it is not', 301, false],
    ['one that has expired is renewed', -5, true],
  ])('credentials: %s', async (_, expiresIn, isRenewed) => {
    const id = await store(expiresIn);
    const credential = await processWith()(id).get();
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

  it('credentials: one that lives a minute is renewed in its last tenth', async () => {
    const id = await store(7);
    const since = (seconds: number) =>
      sql('UPDATE credentials SET refreshed_at = $2 WHERE id = $1', [id, inSeconds(seconds)]);
    await since(7 - 60);
    expect(tokenOf(await processWith()(id).get())).toBe(issued.accessToken);
    await since(7 - 80);
    expect(tokenOf(await processWith()(id).get())).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: a run reads it with one statement, and only if it asks', async () => {
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
    const handle = processWith({ ports: counting })(id);
    expect(statements).toHaveLength(0);
    for (let i = 0; i < 5; i++) await handle.get();
    expect(statements).toHaveLength(1);
    // A run may last longer than its token.
    ports.advance(3400 * 1000);
    expect(tokenOf(await handle.get())).toBe(server.latest());
    const after = statements.length;
    await handle.get();
    expect(statements).toHaveLength(after);
  });

  it('credentials: client id and secret go into the header where the connector says so, encoded', async () => {
    const id = await store(-1);
    const oauth2 = { ...server.oauth2, clientAuthentication: 'basic' as const, clientSecret: 'a:b c' };
    await processWith({ connectors: [oauthConnector(oauth2)] })(id).get();
    const [request] = server.requests;
    expect(request?.authorization).toBe(`Basic ${Buffer.from('the-app:a%3Ab+c').toString('base64')}`);
    expect(Object.keys(request?.form ?? {})).toEqual(['grant_type', 'refresh_token']);
  });

  it.each([
    ['as a form, with a time in words of digits', { asForm: true, expiresIn: '7200' }, 7200],
    ['without a time', { expiresIn: undefined }, undefined],
    ['with a time that is none', { expiresIn: 'soon' }, undefined],
  ])('credentials: an answer %s is understood', async (_, behaviour, life) => {
    Object.assign(server.behaviour, behaviour);
    const id = await store(-1);
    const credential = await processWith()(id).get();
    expect(tokenOf(credential)).toBe(server.latest());
    expect((await rowOf(id))?.expires_at).toEqual(life === undefined ? null : new Date(inSeconds(life)));
    const refreshed = server.requests.length;
    const next = await processWith()(id).renew(credential);
    expect(tokenOf(next)).toBe(server.latest());
    expect(server.requests).toHaveLength(refreshed + 1);
    expect(server.sawTheft()).toBe(false);
  });

  it('credentials: a provider that gives no new refresh token keeps the old one in use', async () => {
    server.behaviour.rotates = false;
    const id = await store(-1);
    const handle = processWith()(id);
    const second = await handle.renew(await handle.get());
    expect(second.generation).toBe(3);
    expect(server.requests.map(({ form }) => form['refresh_token'])).toEqual([
      issued.refreshToken,
      issued.refreshToken,
    ]);
  });

  it('credentials: the new tokens are committed before anybody uses them', async () => {
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
    await processWith({ ports: watching })(id).get();
    expect(committed).toBe(true);
    expect((await rowOf(id))?.generation).toBe(2);
  });

  it.each([2, 7])(
    'credentials: tokens whose commit failed %i times are stored all the same',
    async (times) => {
      const id = await store(-1);
      let failures = times;
      const ports = {
        ...testPorts(start),
        // Its pauses are short; a request for tokens is not given up.
        sleep: (ms: number) => (ms < 20_000 ? Promise.resolve() : new Promise<void>(() => {})),
        query: async <T>(statement: string, send: () => Promise<T>) => {
          if (statement === 'COMMIT' && failures-- > 0)
            throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
          return send();
        },
      };
      expect(tokenOf(await processWith({ ports })(id).get())).toBe(server.latest());
      expect((await rowOf(id))?.generation).toBe(2);
      expect(tokenOf(await processWith()(id).get())).toBe(server.latest());
      expect(server.requests).toHaveLength(1);
    },
  );
});

describe('credentials: one renewal serves everybody', () => {
  it('credentials: many runs of a process need an expired token, and one request is made', async () => {
    const id = await store(-1);
    const handle = processWith();
    const got = await Promise.all(Array.from({ length: 30 }, () => handle(id).get()));
    expect(new Set(got.map(tokenOf))).toEqual(new Set([server.latest()]));
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: while the old token still works, nobody waits for the one who renews it', async () => {
    const id = await store(60);
    let go = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        go = resolve;
      });
    const [here, there] = [processWith(), processWith()];
    const renewing = here(id).get();
    await until('the provider is asked', () => server.requests.length === 1);
    expect(tokenOf(await here(id).get())).toBe(issued.accessToken);
    expect(tokenOf(await there(id).get())).toBe(issued.accessToken);
    go();
    expect(tokenOf(await renewing)).toBe(server.latest());
    expect(server.latest()).not.toBe(issued.accessToken);
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: with an expired token, others wait for the one who renews it, also in other processes', async () => {
    const id = await store(-1);
    let go = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        go = resolve;
      });
    const handles = [processWith(), processWith(), processWith()].map((handle) => handle(id));
    const all = Promise.all(handles.map((handle) => handle.get()));
    await until('the others wait for the row', async () => {
      const [row] = await sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return row?.n === 2 && server.requests.length === 1;
    });
    go();
    expect((await all).map(tokenOf)).toEqual([1, 2, 3].map(() => server.latest()));
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: a process renews few at a time, so that database connections are left', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) {
      issued = server.issue();
      ids.push(await store(-1));
    }
    let [inside, most] = [0, 0];
    server.behaviour.before = async () => {
      most = Math.max(most, ++inside);
      await new Promise(setImmediate);
      inside--;
    };
    const handle = processWith();
    const got = await Promise.all(ids.map((id) => handle(id).get()));
    expect(new Set(got.map(tokenOf)).size).toBe(9);
    expect(most).toBeLessThanOrEqual(4);
    expect(server.sawTheft()).toBe(false);
  });

  it('credentials: a run that is aborted stops waiting, and the renewal goes on', async () => {
    const id = await store(-1);
    let go = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        go = resolve;
      });
    const abort = new AbortController();
    const handle = processWith();
    const waiting = handle(id, abort.signal).get();
    await until('the provider is asked', () => server.requests.length === 1);
    const other = handle(id).get();
    abort.abort(new Error('told to stop'));
    await expect(waiting).rejects.toThrow('told to stop');
    go();
    expect(tokenOf(await other)).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
    await expect(handle(id, abort.signal).get()).rejects.toThrow('told to stop');
  });
});

describe('credentials: a token that the provider refuses', () => {
  it('credentials: renew gives the newer one if there is one, and asks for one if there is none', async () => {
    const id = await store(3600);
    const [first, second] = [processWith()(id), processWith()(id)];
    const [one, two] = [await first.get(), await second.get()];
    expect(tokenOf(await first.renew(one))).toBe(server.latest());
    expect(tokenOf(await second.renew(two))).toBe(server.latest());
    expect(tokenOf(await second.get())).toBe(server.latest());
    expect(server.requests).toHaveLength(1);
  });

  it('credentials: what cannot be renewed is refused with the reason', async () => {
    const without = await store(-1, { refreshToken: undefined });
    await expect(processWith()(without).get()).rejects.toThrow('there is no refresh token');
    const still = await store(60, { refreshToken: undefined });
    expect(tokenOf(await processWith()(still).get())).toBe(issued.accessToken);
    const id = await store(-1);
    await expect(processWith({ connectors: [] })(id).get()).rejects.toThrow('does not say how to renew it');
    const { credentials } = database.engine({ credentials: { keys } });
    const key = await credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: { type: 'api_key', key: 'k' },
    });
    const handle = processWith()(key.id);
    await expect(handle.renew(await handle.get())).rejects.toMatchObject({
      name: 'UnauthorizedError',
      message: 'The provider refuses the credential.',
    });
    await expect(processWith()(undefined).get()).rejects.toThrow('The connection has no credential.');
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
    'credentials: %s marks it as refused, with an event, and nobody asks again',
    async (_, status, body, reason) => {
      const id = await store(-1);
      server.behaviour.answer = { status, body };
      const { log, lines } = recordingLogger();
      await expect(processWith({ log })(id).get()).rejects.toMatchObject({
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
      const again: (() => Promise<Credential>)[] = [
        () => processWith()(id).get(),
        () => processWith()(id).renew({ id, generation: 1 } as Credential),
      ];
      for (const attempt of again) await expect(attempt()).rejects.toThrow(reason);
      expect(server.requests).toHaveLength(1);
      // A new one is a new beginning.
      const { credentials } = database.engine({ credentials: { keys } });
      await credentials.replace(id, { type: 'oauth2', ...server.issue() });
      expect(tokenOf(await processWith()(id).get())).toBe(server.latest());
    },
  );

  it.each([
    ['503', 503, 'busy', 'answered 503'],
    ['429', 429, '{"error":"slow_down"}', 'answered 429'],
    ['a redirect', 302, '', 'answered 302'],
    ['an answer without a token', 200, '{"token_type":"bearer"}', 'answered 200'],
    ['400 without a code', 400, '<html>', 'answered 400'],
    ['401 without a code', 401, 'nothing', 'answered 401'],
    ["a firewall's 403", 403, '<html>Request blocked</html>', 'answered 403'],
    ["a firewall's 403 with a code", 403, '{"error":"access_denied"}', 'answered 403 (access_denied)'],
    ['a mishap at Slack', 200, '{"ok":false,"error":"internal_error"}', 'answered 200 (internal_error)'],
    ['a code that nobody knows', 400, '{"error":"maintenance"}', 'answered 400 (maintenance)'],
    ['a grant within a mishap', 500, '{"error":"invalid_grant"}', 'answered 500 (invalid_grant)'],
    ['a wrong client', 401, '{"error":"invalid_client"}', 'Check client id and secret of the connector'],
    ['a wrong client at Slack', 200, '{"ok":false,"error":"bad_client_secret"}', 'refuses this app'],
  ])('credentials: %s is no refusal, and passes', async (_, status, body, reason) => {
    const id = await store(-1);
    server.behaviour.answer = { status, body };
    await expect(processWith()(id).get()).rejects.toMatchObject({
      name: 'TransientError',
      message: expect.stringContaining(reason),
    });
    expect((await rowOf(id))?.refused_reason).toBeNull();
    server.behaviour.answer = undefined;
    expect(tokenOf(await processWith()(id).get())).toBe(server.latest());
  });

  it('credentials: where renewing fails while the old token still works, the old one is used', async () => {
    const id = await store(60);
    server.behaviour.answer = { status: 500, body: '' };
    expect(tokenOf(await processWith()(id).get())).toBe(issued.accessToken);
  });

  it('credentials: an endpoint that cannot be reached is named, what was sent is not', async () => {
    const id = await store(-1);
    const host = `127.0.0.1:${await freePort()}`;
    const oauth2 = { ...server.oauth2, tokenUrl: `http://${host}/token?secret=in-the-url` };
    const failure = await processWith({ connectors: [oauthConnector(oauth2)] })(id)
      .get()
      .then(
        () => undefined,
        (error: Error) => error,
      );
    expect([failure?.name, failure?.cause]).toEqual(['TransientError', undefined]);
    expect(failure?.message).toBe(`${host} could not be asked for tokens: ECONNREFUSED.`);
  });

  it('credentials: an endpoint that never answers is given up, long before the row is', async () => {
    const id = await store(-1);
    server.behaviour.before = () => new Promise(() => {});
    const ports = testPorts(start);
    const waiting = processWith({ ports })(id).get();
    await until('the provider is asked', () => server.requests.length === 1);
    expect(ports.sleeps).toEqual([20_000]);
    ports.wake();
    await expect(waiting).rejects.toThrow('no answer within 20 s');
  });

  it('credentials: an endpoint that repeats what it was sent does not get it into an error', async () => {
    issued = { ...issued, refreshToken: 'my_secret_token' };
    const id = await store(-1);
    server.behaviour.answer = { status: 400, body: '{"error":"my_secret_token"}' };
    const failure = await processWith()(id)
      .get()
      .then(
        () => undefined,
        (error: Error) => error,
      );
    expect(failure?.message).not.toContain('my_secret_token');
  });
});

describe('credentials: what is stored cannot be used', () => {
  it('credentials: a process without the key fails for now, one that was moved fails for good', async () => {
    const [id, other] = [await store(3600), await store(3600)];
    await expect(processWith({ keys: [newKey('k2')] })(id).get()).rejects.toMatchObject({
      name: 'TransientError',
      message: expect.stringContaining('SYNCLINE_CREDENTIALS_KEYS'),
    });
    await sql(
      'UPDATE credentials SET sealed = (SELECT sealed FROM credentials WHERE id = $2) WHERE id = $1',
      [id, other],
    );
    await expect(processWith()(id).get()).rejects.toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining('does not open'),
    });
  });
});

describe('credentials: programs that renew tokens themselves', () => {
  it('credentials: save replaces the fields of a custom one, and of no other', async () => {
    const { credentials } = database.engine({ credentials: { keys } });
    const secret: Secret = { type: 'custom', fields: { token: 1 } };
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const handle = processWith()(id);
    const before = await handle.get();
    await handle.save({ token: 2 });
    expect(await handle.get()).toEqual({ id, generation: 2, type: 'custom', fields: { token: 2 } });
    expect(await processWith()(id).renew(before)).toMatchObject({ fields: { token: 2 } });
    await expect(handle.save([] as never)).rejects.toThrow('secret.fields is not right');
    const oauth = await store(3600);
    await expect(processWith()(oauth).save({})).rejects.toThrow('this one is of kind oauth2');
  });
});
