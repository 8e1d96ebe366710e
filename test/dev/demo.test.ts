import { beforeAll, describe, expect, it } from 'vitest';
import { isOutdated, makeDemo } from '../../src/dev/demo.ts';
import { demoConnectors } from '../../src/dev/demo-connectors.ts';
import { revokedHolder } from '../../src/dev/provider/tokens.ts';
import type { Connection, Syncline } from '../../src/index.ts';
import { newKey } from '../credentials/handles.ts';
import { useDatabase } from '../support/database.ts';
import { momentOf, useProviders } from '../support/provider-server.ts';

const database = useDatabase();
const providers = useProviders();
const credentials = { keys: [newKey()] };
let startedMs: number;

async function listConnections(engine: Syncline): Promise<Connection[]> {
  return (await engine.connections.list({ limit: 100 })).items;
}

describe('the demo', () => {
  beforeAll(async () => {
    await database.sql('TRUNCATE tenants CASCADE');
    startedMs = Date.now();
    expect(await makeDemo(database.engine({ credentials }), startedMs)).toBe(24);
  });

  it('demo: has 5 tenants and 24 connections with realistic names', async () => {
    const connections = await listConnections(database.engine());
    expect(new Set(connections.map(({ tenantId }) => tenantId)).size).toBe(5);
    expect(new Set(connections.map(({ provider }) => provider)).size).toBe(4);
    const names = connections.map(({ externalId }) => externalId);
    expect(names).toEqual(
      expect.arrayContaining(['northwind/website', '#support', 'team@northwind.example']),
    );
    expect(connections.filter(({ sync }) => sync.intervalSeconds === 60).length).toBeGreaterThan(16);
  });

  it('demo: is created only in a database without tenants', async () => {
    const engine = database.engine();
    expect(await makeDemo(engine, startedMs)).toBe(0);
    expect(await listConnections(engine)).toHaveLength(24);
  });

  it('demo: data of an earlier version is detected by its connection configs', async () => {
    const engine = database.engine();
    expect(await isOutdated(engine)).toBe(false);
    const [{ id } = { id: '' }] = await database.sql<{ id: string; config: unknown }>(
      `SELECT id FROM connections LIMIT 1`,
    );
    const old = JSON.stringify({ account: 'acme/app', token: 'demo-1' });
    const swap = `UPDATE connections c SET config = $2 FROM connections o WHERE c.id = $1 AND o.id = c.id RETURNING o.config`;
    const [before] = await database.sql<{ config: unknown }>(swap, [id, old]);
    expect(await isOutdated(engine)).toBe(true);
    await database.sql(swap, [id, JSON.stringify(before?.config)]);
  });

  it('demo: makes one connection per provider due now and spreads the others over a minute', async () => {
    const connections = await listConnections(database.engine());
    const active = connections.filter(({ status }) => status === 'active');
    const neverRan = active.filter(({ lastEndedAt }) => lastEndedAt === undefined);
    expect(neverRan.map(({ provider }) => provider).sort()).toEqual([
      'github',
      'google-calendar',
      'slack',
      'warehouse',
    ]);
    const due = active
      .flatMap(({ sync }) => sync.nextRunAt ?? [])
      .map((at) => (at.getTime() - startedMs) / 1000)
      .sort((a, b) => a - b);
    expect(due).toHaveLength(active.length - neverRan.length);
    expect(due[0]).toBeLessThan(5);
    expect(due.at(-1)).toBeLessThan(70);
    const gaps = due.slice(1).map((at, i) => at - (due[i] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(8);
  });

  it('demo: has one paused connection with actor and reason', async () => {
    const engine = database.engine();
    const paused = (await listConnections(engine)).filter(({ status }) => status === 'paused');
    expect(paused).toHaveLength(1);
    const [event] = await database.sql(
      `SELECT kind, actor, reason FROM events WHERE connection_id = $1 ORDER BY id DESC LIMIT 1`,
      [paused[0]?.id],
    );
    expect(event).toEqual({
      kind: 'connection.paused',
      actor: 'demo',
      reason: expect.stringMatching(/Umbra Labs/),
    });
  });

  it('demo: stores tokens only as credentials, shared by their connections', async () => {
    const used = await database.sql<{ name: string; n: number }>(
      `SELECT name, count(c.id)::int AS n FROM credentials k JOIN connections c ON c.credential_id = k.id
       GROUP BY k.id, name`,
    );
    expect(used.reduce((sum, { n }) => sum + n, 0)).toBe(24);
    expect(used.filter(({ n }) => n > 1).length).toBeGreaterThan(2);
    expect(used.filter(({ name }) => name === 'kestrel-legacy')).toEqual([{ name: 'kestrel-legacy', n: 1 }]);
    const open = await database.sql(
      `SELECT FROM connections WHERE config::text || metadata::text LIKE '%demo-%'`,
    );
    expect(open).toEqual([]);
  });

  it('demo: has a job history in time order', async () => {
    const past = await database.sql<{ id: string; finished_at: Date }>(
      'SELECT id, finished_at FROM sync_jobs ORDER BY id',
    );
    expect(past).toHaveLength(100);
    const times = past.map((run) => run.finished_at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Math.max(...times)).toBeLessThan(startedMs);
  });

  it('demo: all connections sync until one token is revoked', async () => {
    // No rate limit at this time: it would defer the run that finds the token revoked.
    providers.nowMs = momentOf(undefined, 'github', 'kestrel/legacy-api', Date.now(), revokedHolder);
    const { url } = await providers.start();
    const engine = database.engine({ connectors: demoConnectors(url), credentials });
    const active = (await listConnections(engine)).filter(({ status }) => status === 'active');
    for (const { id } of active) await engine.connections.trigger(id);
    await engine.drain();
    expect(await listConnections(engine)).not.toContainEqual(
      expect.objectContaining({ status: 'needs_auth' }),
    );
    const unsynced = await database.sql(
      `SELECT external_id FROM connections c WHERE status = 'active' AND NOT EXISTS (SELECT FROM signals s WHERE s.connection_id = c.id)
         AND NOT EXISTS (SELECT FROM sync_jobs j WHERE j.connection_id = c.id AND j.status = 'queued' AND j.retry_after IS NOT NULL)`,
    );
    expect(unsynced).toEqual([]);

    providers.nowMs += 120_000;
    const revoked = active.find(({ externalId }) => externalId === 'kestrel/legacy-api');
    await engine.connections.trigger(revoked?.id ?? '');
    await engine.drain();
    const refused = (await listConnections(engine)).filter(({ status }) => status === 'needs_auth');
    expect(refused.map(({ id }) => id)).toEqual([revoked?.id]);
  });
});
