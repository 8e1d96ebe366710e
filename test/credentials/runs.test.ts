import { beforeEach, describe, expect, it } from 'vitest';
import { bearer, createHttp } from '../../src/connector-kit/index.ts';
import { defineConnector, type SyncContext, UnauthorizedError } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { newKey } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
let server: OAuthServer;
beforeEach(async () => {
  await database.empty();
  server = await startOAuthServer();
});

/** Retries once with a renewed token after a rejection. */
async function call({ credentials, fetch, log }: SyncContext) {
  let credential = await credentials.get();
  for (let tries = 0; ; tries++) {
    if (credential.type !== 'oauth2') throw new Error('of another kind');
    const headers = { authorization: `Bearer ${credential.accessToken}` };
    const { status } = await fetch(`${server.url}/api`, { headers });
    log.info({ status }, 'called');
    if (status === 200) return { signals: [], nextCursor: { generation: credential.generation } };
    if (tries > 0) throw new UnauthorizedError('The provider refuses even the new token.');
    credential = await credentials.renew(credential);
  }
}

async function callWithKit(context: SyncContext) {
  await createHttp(context, { baseUrl: server.url, authorize: bearer() }).get('/api');
  return { signals: [] };
}

const engine = (sync: typeof call | typeof callWithKit = call) =>
  database.engine({
    credentials: { keys },
    connectors: [defineConnector({ provider: 'github', name: 'GitHub', oauth2: server.oauth2, sync })],
  });

async function addCredential(count: number, expiresInSeconds: number) {
  const { credentials, connections } = engine();
  const expiresAt = new Date(Date.now() + expiresInSeconds * 1000).toISOString();
  const secret = { type: 'oauth2' as const, ...server.issue(), expiresAt };
  const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
  const connectionIds: string[] = [];
  for (let i = 0; i < count; i++) {
    const connection = await connections.create({ tenantId: tenant, provider: 'github', credentialId: id });
    await connections.trigger(connection.id);
    connectionIds.push(connection.id);
  }
  return { id, connectionIds };
}

describe('credentials: runs with credentials', () => {
  it('credentials: after a 401 the token is renewed, and the run succeeds', async () => {
    const { connectionIds } = await addCredential(3, 3600);
    server.revoke(server.latest());
    expect(await engine().drain()).toMatchObject({ succeeded: 3, failed: 0 });
    expect(server.requests).toHaveLength(1);
    expect((await engine().connections.get(connectionIds[0] as string)).sync.cursor).toEqual({
      generation: 2,
    });
  });

  it('credentials: a rejected refresh sets all its connections to needs_auth, with one request', async () => {
    const { id, connectionIds } = await addCredential(3, -1);
    server.behaviour.answer = { status: 400, body: '{"error":"invalid_grant"}' };
    expect(await engine().drain()).toMatchObject({ failed: 3 });
    expect(server.requests).toHaveLength(1);
    const rows = await sql<{ status: string; reason: string }>(
      `SELECT c.status, e.reason FROM connections c JOIN events e ON e.connection_id = c.id AND e.kind = 'connection.needs_auth'`,
    );
    expect(rows).toHaveLength(3);
    for (const row of rows)
      expect(row).toEqual({
        status: 'needs_auth',
        reason: expect.stringContaining('refused to refresh the access token: 127.0.0.1'),
      });
    const { credentials, connections } = engine();
    expect((await connections.explain(connectionIds[0] as string)).sentence).toContain('invalid_grant');
    expect(await credentials.get(id)).toMatchObject({
      refusedReason: expect.stringContaining('(invalid_grant)'),
    });
    server.behaviour.answer = undefined;
    await credentials.replace(id, { type: 'oauth2', ...server.issue() });
    for (const connection of connectionIds) await connections.trigger(connection);
    expect(await engine().drain()).toMatchObject({ succeeded: 3, failed: 0 });
  });

  it.each([
    { status: 503, body: '' },
    { status: 429, body: '{"error":"invalid_grant"}' },
    { status: 401, body: '{"error":"invalid_client"}' },
  ])(
    'credentials: a 401 while the token endpoint returns %j is retried, and the connection stays active',
    async (answer) => {
      const { connectionIds } = await addCredential(1, 3600);
      const id = connectionIds[0] as string;
      server.revoke(server.latest());
      server.behaviour.answer = answer;
      await engine(callWithKit).drain();
      expect(server.requests).toHaveLength(1);
      const [job] = await sql(
        `SELECT status, attempts, error ->> 'kind' AS kind, error ->> 'message' AS message, retry_after > now() AS waits
         FROM sync_jobs`,
      );
      const message = expect.stringContaining(`answered ${answer.status}`);
      expect(job).toEqual({ status: 'queued', attempts: 1, kind: 'transient', message, waits: true });
      expect(await engine().connections.get(id)).toMatchObject({ status: 'active' });

      server.behaviour.answer = undefined;
      await engine().connections.trigger(id);
      expect(await engine(callWithKit).drain()).toMatchObject({ succeeded: 1, failed: 0 });
    },
  );

  it('credentials: a 401 followed by a rejected refresh sets the connection to needs_auth', async () => {
    const { connectionIds } = await addCredential(1, 3600);
    server.revoke(server.latest());
    server.behaviour.answer = { status: 400, body: '{"error":"invalid_grant"}' };
    expect(await engine(callWithKit).drain()).toMatchObject({ failed: 1 });
    expect(await engine().connections.get(connectionIds[0] as string)).toMatchObject({
      status: 'needs_auth',
      failure: 'unauthorized',
    });
    expect((await engine().connections.explain(connectionIds[0] as string)).sentence).toContain('401');
  });

  it('credentials: a connection without a credential fails as unauthorized', async () => {
    const { connections } = engine();
    const { id } = await connections.create({ tenantId: tenant, provider: 'github' });
    // resume() makes it run without a credential.
    await connections.resume(id);
    await engine().drain();
    expect(await connections.get(id)).toMatchObject({ status: 'needs_auth', failure: 'unauthorized' });
  });

  it('credentials: secrets are stored only in sealed columns', async () => {
    await addCredential(2, -1);
    await engine().drain();
    await addCredential(1, -1);
    server.behaviour.answer = {
      status: 400,
      body: JSON.stringify({ error: 'invalid_grant', said: server.latest() }),
    };
    await engine().drain();
    server.behaviour.answer = undefined;
    const tables = await sql<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'syncline' AND table_type = 'BASE TABLE'`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['sync_jobs', 'events', 'attempts']),
    );
    for (const { name } of tables) {
      const rows = await sql<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      const text = rows.map(({ row }) => row).join('\n');
      for (const secret of [...server.secrets, ...keys]) {
        expect(text, name).not.toContain(secret);
        expect(text, name).not.toContain(Buffer.from(secret).toString('hex'));
      }
    }
    const columns = await sql<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'syncline' AND data_type = 'bytea' ORDER BY 1`,
    );
    // The other bytea columns are hashes.
    expect(columns.map(({ name }) => name)).toEqual([
      'api_keys.hash',
      'authorizations.browser',
      'authorizations.provider_state',
      'authorizations.sealed',
      'authorizations.state',
      'credentials.sealed',
      'sessions.hash',
      'webhooks.sealed',
    ]);
    expect(await sql('SELECT FROM attempts')).not.toHaveLength(0);
  });
});
