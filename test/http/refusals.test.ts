import { beforeEach, describe, expect, test } from 'vitest';
import type { Refused } from '../../src/api/access.ts';
import { createLocalLogin } from '../../src/http/local-login.ts';
import { createRefusals } from '../../src/http/refusals.ts';
import { startHttpService } from '../../src/http/service.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { call, cookieOf, startService } from './service.ts';

const db = useDatabase();
const { sql } = db;
beforeEach(async () => {
  await db.empty();
  await sql('TRUNCATE api_keys, sessions');
});

const keyLike = (letter: string) => `syn_${letter.repeat(43)}`;

interface Event {
  kind: string;
  tenant_id: string | null;
  key_id: string | null;
  actor: string;
  detail: Record<string, unknown>;
}
const refused = () =>
  sql<Event>(
    `SELECT kind, tenant_id, key_id, actor, detail FROM events WHERE kind LIKE '%.refused' ORDER BY id`,
  );

describe('audit: refused keys and sessions', () => {
  test('audit: an unknown key is recorded by prefix, once a minute and never in full', async () => {
    const { call } = await startService(db);
    const key = keyLike('q');
    for (let i = 0; i < 5; i++) expect((await call('/v1/me', { key })).status).toBe(401);
    await until('the refusal is recorded', async () => (await refused()).length > 0);
    expect(await refused()).toEqual([
      {
        kind: 'key.refused',
        tenant_id: null,
        key_id: null,
        actor: 'unauthenticated',
        detail: { count: 1, address: expect.stringMatching(/127\.0\.0\.1/), prefix: 'syn_qqqqqq' },
      },
    ]);
    const [row] = await sql<{ text: string }>(`SELECT string_agg(e::text, '') AS text FROM events e`);
    expect(row?.text).not.toContain(key.slice(0, 12));
  });

  test('audit: text that is not a key, such as a password, is not recorded', async () => {
    const { call } = await startService(db);
    const json = { key: 'correct horse battery staple' };
    expect((await call('/v1/session', { method: 'POST', key: undefined, json })).status).toBe(401);
    await until('the refusal is recorded', async () => (await refused()).length > 0);
    expect((await refused())[0]?.detail).toMatchObject({ count: 1, prefix: null });
    const [row] = await sql<{ text: string }>(`SELECT string_agg(e::text, '') AS text FROM events e`);
    expect(row?.text).not.toContain('horse');
    expect(row?.text).not.toContain('correct');
  });

  test('audit: a bearer token that is not a key is recorded without its text', async () => {
    const { call } = await startService(db);
    expect((await call('/v1/me', { key: 'correct-horse' })).status).toBe(401);
    await until('the refusal is recorded', async () => (await refused()).length > 0);
    expect(await refused()).toMatchObject([{ kind: 'key.refused', detail: { count: 1, prefix: null } }]);
    const [row] = await sql<{ text: string }>(`SELECT string_agg(e::text, '') AS text FROM events e`);
    expect(row?.text).not.toContain('horse');
  });

  test('audit: a revoked key is recorded with its id, visible to its tenant', async () => {
    const { call, syncline } = await startService(db);
    const made = await syncline.keys.create({ name: 'theirs', tenantId: tenant });
    await syncline.keys.revoke(made.id);
    expect((await call('/v1/me', { key: made.key })).status).toBe(401);
    const view = syncline.as({ tenantId: tenant, actor: 'theirs' });
    const seen = async () => (await view.audit.list({ kind: 'key.refused', keyId: made.id })).items;
    await until('the refusal is recorded', async () => (await seen()).length > 0);
    expect((await seen())[0]).toMatchObject({
      actor: 'unauthenticated',
      keyId: made.id,
      detail: { count: 1, prefix: made.prefix, key: made.id, name: 'theirs', revoked: true },
    });
  });

  test('audit: an expired session is recorded with the key that opened it', async () => {
    const { call, key } = await startService(db);
    const login = await call('/v1/session', { method: 'POST', key: undefined, json: { key } });
    const token = cookieOf(login);
    await sql(`UPDATE sessions SET expires_at = now() - interval '1 second'`);
    expect(
      (await call('/v1/me', { key: undefined, headers: { cookie: `syncline_session=${token}` } })).status,
    ).toBe(401);
    await until('the refusal is recorded', async () => (await refused()).length > 0);
    const [event] = await refused();
    const [row] = await sql<{ id: string }>('SELECT id FROM api_keys WHERE revoked_at IS NULL');
    expect(event).toMatchObject({ kind: 'session.refused', key_id: row?.id, detail: { count: 1 } });
    expect(JSON.stringify(event)).not.toContain(token);
  });

  test('audit: a database error is not recorded as a refused key', async () => {
    const { call, syncline, key } = await startService(db);
    syncline.access.authenticate = () => Promise.reject(new Error('the database is unreachable'));
    expect((await call('/v1/me', { key })).status).toBe(500);
    expect(await refused()).toEqual([]);
  });

  test('audit: login, logout and one-time link are recorded with the address', async () => {
    const localLogin = createLocalLogin(systemPorts.monotonicMs);
    const { call, key } = await startService(db, { localLogin });
    const token = cookieOf(await call('/v1/session', { method: 'POST', key: undefined, json: { key } }));
    const headers = { cookie: `syncline_session=${token}`, 'x-syncline-request': '1' };
    expect((await call('/v1/session', { method: 'DELETE', key: undefined, headers })).status).toBe(204);
    await call(`/login?token=${localLogin.issue()}`, { key: undefined });
    const [keyRow] = await sql<{ id: string }>('SELECT id FROM api_keys');
    const address = expect.stringMatching(/127\.0\.0\.1/);
    expect(
      await sql(`SELECT kind, actor, key_id, detail FROM events WHERE kind LIKE 'session.%' ORDER BY id`),
    ).toEqual([
      { kind: 'session.opened', actor: 'key:tests', key_id: keyRow?.id, detail: { by: 'key', address } },
      { kind: 'session.closed', actor: 'key:tests', key_id: keyRow?.id, detail: null },
      { kind: 'session.opened', actor: 'local', key_id: null, detail: { by: 'one-time token', address } },
    ]);
  });
});

describe('audit: stopping the service', () => {
  test('audit: closing the service writes the counted refusals before the database closes', async () => {
    const syncline = db.engine({ server: { port: 0 } });
    const server = await startHttpService({ syncline, log: silent });
    for (let i = 0; i < 7; i++) expect((await call(server.url, '/v1/me', keyLike('q'))).status).toBe(401);
    await syncline.stop({ serving: server.close() });
    expect((await refused()).map(({ detail }) => detail['count']).sort()).toEqual([1, 6]);
  });

  test('audit: closing does not wait for a hanging write', async () => {
    const refusals = createRefusals({
      write: () => new Promise(() => {}),
      onFailure: () => {},
      ports: systemPorts,
    });
    refusals.record('key', keyLike('a'), '192.0.2.1');
    await refusals.close();
  });
});

describe('audit: limit on refusal events', () => {
  function createCountingRefusals() {
    const written: Refused[] = [];
    const stop = new AbortController();
    let nowMs = 0;
    const refusals = createRefusals({
      write: async (refusal) => void written.push(refusal),
      onFailure: () => {},
      signal: stop.signal,
      ports: { ...systemPorts, monotonicMs: () => nowMs },
    });
    return { written, refusals, stop, advance: (ms: number) => (nowMs += ms) };
  }

  test('audit: one address and prefix produce one event per minute with the number of attempts', () => {
    const { written, refusals, advance } = createCountingRefusals();
    for (let i = 0; i < 1000; i++) refusals.record('key', keyLike('a'), '192.0.2.1');
    expect(written.map(({ count }) => count)).toEqual([1]);
    advance(60_000);
    for (let i = 0; i < 10; i++) refusals.record('key', keyLike('a'), '192.0.2.1');
    expect(written.map(({ count }) => count)).toEqual([1, 999]);
    advance(60_000);
    refusals.record('key', keyLike('a'), '192.0.2.1');
    expect(written.map(({ count }) => count)).toEqual([1, 999, 10]);
    expect(written.every(({ prefix, address }) => prefix === 'syn_aaaaaa' && address === '192.0.2.1')).toBe(
      true,
    );
  });

  test('audit: the number of events per minute is limited for any number of addresses and keys', () => {
    const { written, refusals, stop, advance } = createCountingRefusals();
    for (let minute = 0; minute < 5; minute++) {
      const before = written.length;
      for (let i = 0; i < 5000; i++)
        refusals.record(
          i % 2 ? 'key' : 'session',
          keyLike(String.fromCharCode(65 + (i % 26))),
          `10.0.${i}.1`,
        );
      expect(written.length - before).toBeLessThanOrEqual(62);
      advance(60_000);
    }
    stop.abort();
    expect(written.reduce((sum, { count }) => sum + count, 0)).toBe(25_000);
    expect(written.some(({ address }) => address === undefined)).toBe(true);
  });

  test('audit: one address with many keys does not use up the events of other addresses', () => {
    const { written, refusals, stop } = createCountingRefusals();
    for (let i = 0; i < 500; i++)
      refusals.record('key', `syn_${String(i).padStart(43, '0').split('').reverse().join('')}`, '192.0.2.1');
    expect(written.map(({ prefix }) => prefix !== undefined)).toEqual([...Array(5).fill(true), false]);
    refusals.record('key', keyLike('b'), '192.0.2.2');
    expect(written.at(-1)).toMatchObject({ prefix: 'syn_bbbbbb', address: '192.0.2.2', count: 1 });
    stop.abort();
    expect(written.reduce((sum, { count }) => sum + count, 0)).toBe(501);
    expect(written.every(({ address }) => address !== undefined)).toBe(true);
  });

  test('audit: a stopping service writes the counted refusals', () => {
    const { written, refusals, stop } = createCountingRefusals();
    for (let i = 0; i < 7; i++) refusals.record('session', `token ${i}`, '192.0.2.1');
    stop.abort();
    expect(written.map(({ kind, count, hash }) => [kind, count, hash === undefined])).toEqual([
      ['session', 1, false],
      ['session', 6, true],
    ]);
  });
});
