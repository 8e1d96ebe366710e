import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { type Running, startProcess } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import { handlesOn, newKey, oauthConnector } from './handles.ts';
import { type OAuthServer, startOAuthServer } from './oauth-server.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
const script = fileURLToPath(new URL('../support/fixtures/refresher.mjs', import.meta.url));
let server: OAuthServer;
beforeEach(async () => {
  await database.empty();
  server = await startOAuthServer();
});

/** One credential shared by `connections` connections, each with a due job. */
async function addCredential(connections: number, expiresInSeconds: number): Promise<string> {
  const engine = database.engine({ credentials: { keys } });
  const expiresAt = new Date(Date.now() + expiresInSeconds * 1000).toISOString();
  const secret = { type: 'oauth2' as const, ...server.issue(), expiresAt };
  const { id } = await engine.credentials.create({ tenantId: tenant, provider: 'github', secret });
  // As if issued an hour before it expires.
  await sql(`UPDATE credentials SET refreshed_at = expires_at - interval '1 hour'`);
  for (let i = 0; i < connections; i++) {
    const connection = await engine.connections.create({
      tenantId: tenant,
      provider: 'github',
      credentialId: id,
    });
    await engine.connections.trigger(connection.id);
  }
  return id;
}

const start = (count: number): Running =>
  startProcess(process.execPath, [
    script,
    JSON.stringify({
      database: database.url,
      keys,
      oauth2: server.oauth2,
      provider: 'github',
      url: server.url,
      count,
    }),
  ]);

const processCount = sized(10, 4);

describe('credentials: several real processes and one rotating token', () => {
  it('credentials: several processes refresh one token once, and all get the new one', async () => {
    const id = await addCredential(processCount, -1);
    const processes = Array.from({ length: processCount }, () => start(processCount));
    const ended = await Promise.all(processes.map(({ finished }) => finished));
    expect(ended.map(({ code }) => code)).toEqual(processes.map(() => 0));
    expect(server.requests).toHaveLength(1);
    expect(server.sawTheft()).toBe(false);
    expect(server.calls).toEqual(processes.map(() => server.latest()));
    expect(await sql(`SELECT DISTINCT payload FROM signals`)).toEqual([
      { payload: { status: 200, generation: 2 } },
    ]);
    expect(await sql('SELECT count(*)::int AS n FROM signals')).toEqual([{ n: processCount }]);
    expect(await sql('SELECT generation, refused_at FROM credentials WHERE id = $1', [id])).toEqual([
      { generation: 2, refused_at: null },
    ]);
    for (const { stdout, stderr } of ended)
      for (const secret of [...server.secrets, ...keys]) expect(stdout + stderr).not.toContain(secret);
  });

  it('credentials: while the old token is valid, one process refreshes it and the others continue with it', async () => {
    await addCredential(processCount, 60);
    const old = server.latest();
    // The new token is issued only after all other processes have called with the old one.
    server.behaviour.before = () =>
      until(
        'the others have called',
        () => server.calls.filter((token) => token === old).length === processCount - 1,
      );
    const processes = Array.from({ length: processCount }, () => start(processCount));
    const ended = await Promise.all(processes.map(({ finished }) => finished));
    expect(ended.map(({ code }) => code)).toEqual(processes.map(() => 0));
    expect(server.requests).toHaveLength(1);
    expect(server.calls.filter((token) => token === server.latest())).toHaveLength(1);
    expect(await sql(`SELECT DISTINCT payload ->> 'status' AS status FROM signals`)).toEqual([
      { status: '200' },
    ]);
  });

  it('credentials: a process killed during a refresh leaves the row unlocked', async () => {
    const id = await addCredential(1, -1);
    let release = () => {};
    server.behaviour.before = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const doomed = start(1);
    await until('the token is requested', () => server.requests.length === 1);
    const next = handlesOn(database, {
      keys,
      connectors: [oauthConnector(server.oauth2)],
      ports: systemPorts,
    });
    const waiting = next(id).get();
    doomed.process.kill('SIGKILL');
    await doomed.finished;
    server.behaviour.before = undefined;
    release();
    expect(await waiting).toMatchObject({ accessToken: server.latest(), generation: 2 });
    expect(server.requests).toHaveLength(2);
    expect(server.sawTheft()).toBe(false);
  });
});
