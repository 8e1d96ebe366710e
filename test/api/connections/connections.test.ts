import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testPorts } from '../../support/clock.ts';
import { connector } from '../../support/connector.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, connect, ended } = database;
beforeEach(() => database.empty());

const at = (time: string) => new Date(`2025-01-01T${time}Z`);
const iso = (time: string) => `2025-01-01T${time}.000Z`;
const engineAt = (time: string, scheduler = {}) =>
  database.engine({ ports: testPorts(iso(time)), scheduler: { jitterPctMax: 0, ...scheduler } });
const queuedAt = async (id: string) =>
  (
    await sql<{ scheduled_at: Date }>(
      `SELECT scheduled_at FROM sync_jobs WHERE connection_id = $1 AND status = 'queued'`,
      [id],
    )
  )[0]?.scheduled_at;

describe('DB-2: typed access to metadata.sync', () => {
  it('DB-2: reads every field and lists invalid ones', async () => {
    const id = await connect({
      metadata: {
        sync: {
          interval_seconds: 300,
          next_run_at: iso('12:05:00'),
          first_activated_at: 'never',
          last_jitter_seconds: 9,
          cursor: { page: 2 },
        },
      },
    });
    const { sync } = await engineAt('12:00:00').connections.get(id);
    expect(sync).toEqual({
      intervalSeconds: 300,
      baseIntervalSeconds: 300,
      nextRunAt: at('12:05:00'),
      firstActivatedAt: undefined,
      lastJitterSeconds: 9,
      cursor: { page: 2 },
      invalid: [
        { field: 'first_activated_at', value: '"never"', expected: expect.stringContaining('ISO-8601') },
      ],
    });
  });

  it('DB-2: a connection created through the library is active since now', async () => {
    const { sync, status } = await engineAt('12:00:00').connections.create({
      tenantId: tenant,
      provider: 'github',
      intervalSeconds: 300,
    });
    expect(status).toBe('active');
    expect(sync).toMatchObject({ firstActivatedAt: at('12:00:00'), intervalSeconds: 300 });
  });

  it('DB-2: a connection created with metadata keeps all of it', async () => {
    const { id, sync } = await engineAt('12:00:00').connections.create({
      tenantId: tenant,
      provider: 'github',
      metadata: { team: 'a', sync: { cursor: { page: 2 }, theirs: 1 } },
    });
    expect(sync).toMatchObject({ cursor: { page: 2 }, firstActivatedAt: at('12:00:00') });
    const [row] = await sql<{ metadata: object }>('SELECT metadata FROM connections WHERE id = $1', [id]);
    expect(row?.metadata).toMatchObject({ team: 'a', sync: { cursor: { page: 2 }, theirs: 1 } });
  });

  it.each([59, 86_401, 300.5, Number.NaN, '300' as unknown as number])(
    'DB-2: an interval of %s is rejected with the allowed range',
    async (seconds) => {
      const id = await connect({ metadata: { sync: { interval_seconds: 120 } } });
      await expect(engineAt('12:00:00').connections.setInterval(id, seconds)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/from 60 to 86400/),
      });
      expect((await engineAt('12:00:00').connections.get(id)).sync.intervalSeconds).toBe(120);
    },
  );

  it('DB-2: setting the interval reschedules the next run', async () => {
    const id = await connect({ metadata: { keep: 1, sync: { next_run_at: iso('23:00:00'), cursor: 'c' } } });
    await ended(id, iso('12:00:00'));
    const { connections } = engineAt('12:02:00');
    expect((await connections.setInterval(id, 300)).sync).toMatchObject({
      intervalSeconds: 300,
      nextRunAt: at('12:05:00'),
      cursor: 'c',
    });
    expect((await connections.clearInterval(id)).sync).toMatchObject({
      intervalSeconds: undefined,
      baseIntervalSeconds: 900,
      nextRunAt: at('12:15:00'),
    });
    const [row] = await sql<{ metadata: object }>('SELECT metadata FROM connections WHERE id = $1', [id]);
    expect(row?.metadata).toEqual({ keep: 1, sync: { next_run_at: iso('12:15:00'), cursor: 'c' } });
  });

  it('DB-2: setting the interval reschedules the queued job', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 3600 } } });
    await ended(id, iso('12:00:00'));
    const engine = engineAt('12:30:00');
    await engine.tick();
    expect(await queuedAt(id)).toEqual(at('13:00:00'));
    await engine.connections.setInterval(id, 2400);
    expect(await queuedAt(id)).toEqual(at('12:40:00'));
    expect((await engine.connections.get(id)).sync.nextRunAt).toEqual(at('13:20:00'));
  });

  it('DB-2: setting the interval does not change a running job', async () => {
    const id = await connect();
    const engine = engineAt('12:00:00');
    await engine.tick();
    await sql(`UPDATE sync_jobs SET status = 'running'`);
    const { sync } = await engine.connections.setInterval(id, 600);
    expect(sync.nextRunAt).toEqual(at('12:10:00'));
  });

  it('DB-2: skips a job locked by a concurrent commit', async () => {
    const id = await connect();
    await ended(id, iso('11:00:00'));
    const engine = engineAt('11:14:30');
    await engine.tick();
    const client = await database.session();
    await client.query('BEGIN');
    await client.query(`SELECT FROM syncline.sync_jobs WHERE connection_id = $1 FOR UPDATE`, [id]);
    expect((await engine.connections.setInterval(id, 600)).sync.nextRunAt).toEqual(at('11:24:30'));
  });

  it('DB-2: activating sets first_activated_at once', async () => {
    const id = await connect({ status: 'paused', metadata: { sync: { theirs: true } } });
    await engineAt('12:00:00').connections.activate(id);
    const second = await engineAt('13:00:00').connections.activate(id);
    expect(second.status).toBe('active');
    expect(second.sync.firstActivatedAt).toEqual(at('12:00:00'));
  });

  it('DB-2: activating replaces an invalid first_activated_at', async () => {
    const id = await connect({ status: 'disabled', metadata: { sync: { first_activated_at: 'soon' } } });
    expect((await engineAt('12:00:00').connections.activate(id)).sync.firstActivatedAt).toEqual(
      at('12:00:00'),
    );
  });

  it('DB-2: concurrent writes of other keys are not overwritten', async () => {
    const id = await connect({ metadata: { sync: {} } });
    const engine = database.engine();
    const editOther = (i: number) =>
      sql(
        `UPDATE connections SET metadata = jsonb_set(metadata, ARRAY['sync', $2], to_jsonb($3::int)) WHERE id = $1`,
        [id, `key_${i}`, i],
      );
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        if (i % 3 === 0) return engine.connections.setInterval(id, 60 + i);
        if (i % 3 === 1) return engine.tick();
        return editOther(i);
      }),
    );
    const [row] = await sql<{ sync: Record<string, unknown> }>(
      `SELECT metadata -> 'sync' AS sync FROM connections WHERE id = $1`,
      [id],
    );
    const kept = Object.keys(row?.sync ?? {}).filter((key) => key.startsWith('key_'));
    expect(kept).toHaveLength(20);
    expect(row?.sync['interval_seconds']).toBeGreaterThanOrEqual(60);
  });

  it('DB-2: errors name an unknown connection or an invalid id', async () => {
    const { connections } = engineAt('12:00:00');
    const unknownId = randomUUID();
    for (const call of [connections.get, connections.activate, connections.clearInterval]) {
      await expect(call(unknownId)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: `There is no connection ${unknownId}.`,
      });
      await expect(call("'; DROP TABLE connections; --")).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('must be a UUID'),
      });
    }
  });

  it('DB-2: errors name an unknown tenant or provider', async () => {
    const { connections } = engineAt('12:00:00');
    const unknownId = randomUUID();
    await expect(connections.create({ tenantId: unknownId, provider: 'github' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `There is no tenant ${unknownId}.`,
    });
    await expect(connections.create({ tenantId: tenant, provider: 'gitbub' })).rejects.toMatchObject({
      code: 'PROVIDER_NOT_FOUND',
      message: 'There is no provider "gitbub".',
    });
  });
});

describe('the schedule preview', () => {
  it('SCH-5: shows the queued job, then the windows of the next runs', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 600 } } });
    await ended(id, iso('12:00:00'));
    const engine = engineAt('12:09:30', { jitterPctMax: 0.1 });
    const before = await engine.connections.preview(id, { runs: 2 });
    expect(before).toMatchObject({
      pending: undefined,
      runs: [
        { earliest: at('12:10:00'), latest: at('12:11:00') },
        { earliest: at('12:20:00'), latest: at('12:22:00') },
      ],
    });
    await engine.tick();
    const placed = await queuedAt(id);
    const after = await engine.connections.preview(id, { runs: 1 });
    expect(after).toMatchObject({ pending: 'queued', runs: [{ earliest: placed, latest: placed }] });
  });

  it('SCH-1: the preview of an inactive connection has no runs', async () => {
    const id = await connect({ status: 'paused' });
    expect(await engineAt('12:00:00').connections.preview(id)).toMatchObject({
      runs: [],
      connection: { status: 'paused' },
    });
  });

  it.each([0, 101, 1.5])('SCH-5: a preview of %s runs is rejected with the allowed range', async (runs) => {
    const id = await connect();
    await expect(engineAt('12:00:00').connections.preview(id, { runs })).rejects.toMatchObject({
      message: expect.stringContaining('1 to 100'),
    });
  });

  it('connections: create() and setConfig() check the config with the connector schema', async () => {
    const strict = { ...connector(), configSchema: z.object({ account: z.string() }) };
    const engine = database.engine({ connectors: [strict] });
    const wrong = 'config must be valid for connector "github": account: ';
    const make = (config?: Record<string, unknown>) =>
      engine.connections.create({ tenantId: tenant, provider: 'github', ...(config && { config }) });
    await expect(make()).rejects.toThrow(wrong);
    const { id } = await make({ account: 'a' });
    await expect(engine.connections.setConfig(id, { account: 1 })).rejects.toThrow(wrong);
    await expect(
      engine.connections.setConfig(id, { account: 'a', at: { token: '[hidden]' } }),
    ).rejects.toThrow('config must be free of the placeholder "[hidden]", got one in field token');
    const changed = await engine.connections.setConfig(id, { account: 'b' }, { reason: 'moved' });
    expect(changed.config).toEqual({ account: 'b' });
    const [event] = await engine.connections.events(id);
    expect(event).toMatchObject({ kind: 'connection.config_changed', reason: 'moved' });
    // A process without the connector does not check.
    await expect(database.engine().connections.setConfig(id, {})).resolves.toMatchObject({ config: {} });
  });
});
