import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Connector,
  PermanentError,
  systemPorts,
  TransientError,
  UnauthorizedError,
} from '../../src/index.ts';
import { operatorId } from '../../src/store/scope.ts';
import { testPorts } from '../support/clock.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, connect, job } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';
const minuteMs = 60_000;

beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM rollups');
  await sql('DELETE FROM schedulers');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
  await sql(`INSERT INTO providers (slug) VALUES ('slack') ON CONFLICT DO NOTHING`);
});

/** Next run after all times used here, within its interval, so that nothing is overdue. */
const placed = { metadata: { sync: { next_run_at: '2025-01-03T00:00:00Z', interval_seconds: 86_400 } } };

async function connectFor(tenantId: string, provider = 'github', columns: object = placed): Promise<string> {
  const id = await connect(columns);
  await sql('UPDATE connections SET tenant_id = $2, provider_slug = $3 WHERE id = $1', [
    id,
    tenantId,
    provider,
  ]);
  return id;
}

const jobFor = (id: string, tenantId: string, provider: string, columns: object = {}) =>
  job(id, { tenant_id: tenantId, provider_slug: provider, ...columns });

function engineAt(start: string, connectors: Connector[] = []) {
  const ports = { ...testPorts(start), newId: systemPorts.newId };
  return { ports, engine: database.engine({ ports, connectors }) };
}

const tenantView = { tenantId: tenant, actor: 'key:ours' };
const otherView = { tenantId: otherTenant, actor: 'key:theirs' };

describe('rollups', () => {
  /** A connector whose runs end as the connection's config says. */
  const scripted = (provider: string) =>
    connector(({ connection }) => {
      const { end, signals = 0 } = connection.config as { end?: string; signals?: number };
      if (end === 'failed') throw new PermanentError('never');
      if (end === 'retried') throw new TransientError('later');
      return { signals: Array.from({ length: signals }, (_, i) => signal(i, `key ${Math.floor(i / 2)}`)) };
    }, provider);

  async function add(tenantId: string, provider: string, config: object): Promise<void> {
    const id = await connectFor(tenantId, provider);
    await sql('UPDATE connections SET config = $2 WHERE id = $1', [id, config]);
    await jobFor(id, tenantId, provider);
  }

  it('stats: runs are counted per tenant, in total and per provider, with new signals', async () => {
    const { engine } = engineAt('2025-01-01T12:00:30Z', [scripted('github'), scripted('slack')]);
    for (const signals of [0, 2, 5]) await add(tenant, 'github', { signals });
    await add(tenant, 'github', { end: 'failed' });
    await add(tenant, 'slack', { end: 'retried' });
    for (let i = 0; i < 4; i++) await add(otherTenant, 'slack', { signals: 1 });
    await add(otherTenant, 'slack', { end: 'failed' });
    expect(await engine.drain()).toMatchObject({ succeeded: 7, failed: 2, requeued: 1, signals: 8 });

    const all = { succeeded: 7, failed: 2, retried: 1, signals: 8 };
    const ours = { succeeded: 3, failed: 1, retried: 1, signals: 4 };
    const theirs = { succeeded: 4, failed: 1, retried: 0, signals: 4 };
    expect((await engine.stats.overview()).lastHour).toEqual(all);
    expect((await engine.as(tenantView).stats.overview()).lastHour).toEqual(ours);
    expect((await engine.as(otherView).stats.overview()).lastHour).toEqual(theirs);
    const slack = (await engine.stats.series({ provider: 'slack' })).points.at(-1);
    expect(slack).toMatchObject({ succeeded: 4, failed: 1, retried: 1, signals: 4 });
    const ourSlack = (await engine.as(tenantView).stats.series({ provider: 'slack' })).points.at(-1);
    expect(ourSlack).toMatchObject({ succeeded: 0, failed: 0, retried: 1, signals: 0 });
    expect((await engine.stats.series({ provider: 'unheard of' })).points.at(-1)).toMatchObject({
      succeeded: 0,
    });
  });

  it('stats: the operator rows equal the sum of the tenant rows', async () => {
    const { engine, ports } = engineAt('2025-01-01T12:00:30Z', [scripted('github'), scripted('slack')]);
    const totals = { succeeded: 0, failed: 0, requeued: 0, signals: 0 };
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 10; i++)
        await add(i % 2 ? tenant : otherTenant, i % 3 ? 'github' : 'slack', {
          signals: i,
          end: ['failed', 'retried'][i % 5],
        });
      const ran = await engine.drain();
      for (const key of ['succeeded', 'failed', 'requeued', 'signals'] as const) totals[key] += ran[key];
      // No retries of this round in the next one.
      await sql(`DELETE FROM sync_jobs WHERE status = 'queued'`);
      ports.advance(minuteMs);
    }
    expect(totals.succeeded).toBeGreaterThan(0);
    const sums = `sum(succeeded)::int AS succeeded, sum(failed)::int AS failed, sum(retried)::int AS requeued, sum(signals)::int AS signals`;
    expect(await sql(`SELECT ${sums} FROM rollups WHERE tenant_id = $1`, [operatorId])).toEqual([totals]);
    expect(await sql(`SELECT ${sums} FROM rollups WHERE tenant_id <> $1`, [operatorId])).toEqual([totals]);
    expect(await sql(`SELECT DISTINCT minute FROM rollups ORDER BY minute`)).toHaveLength(6);
  });

  it('stats: a run that lost its lease is not counted', async () => {
    const { engine } = engineAt('2025-01-01T12:00:30Z', [
      connector(async () => {
        await sql('UPDATE sync_jobs SET claim_id = gen_random_uuid(), process_id = gen_random_uuid()');
        return { signals: [signal(1)] };
      }),
    ]);
    await job(await connect(placed));
    expect(await engine.drain()).toMatchObject({ lost: 1 });
    expect(await sql('SELECT FROM rollups')).toHaveLength(0);
  });

  it('stats: the start lag is counted in buckets for first attempts only', async () => {
    const { engine } = engineAt('2025-01-01T12:00:30Z', [connector()]);
    await job(await connect(placed), { scheduled_at: '2025-01-01T12:00:27Z' });
    await job(await connect(placed), { scheduled_at: '2025-01-01T12:00:30Z' });
    await job(await connect(placed), { scheduled_at: '2025-01-01T00:00:00Z', attempts: 1 });
    await engine.drain();
    const [row] = await sql<Record<string, number>>(
      `SELECT ${Array.from({ length: 12 }, (_, i) => `sum(lag_${i})::int AS lag_${i}`).join(', ')} FROM rollups WHERE tenant_id = $1`,
      [operatorId],
    );
    const counted = Object.entries(row ?? {}).filter(([, count]) => count > 0);
    // 3 s is between 2.5 and 5 s.
    expect(counted).toEqual([
      ['lag_0', 1],
      ['lag_6', 1],
    ]);
    const point = (await engine.stats.series()).points.at(-1);
    expect(point?.lagP50Ms).toBe(50);
    expect(point?.lagP95Ms).toBe(2500 + 0.9 * 2500);
  });

  it('stats: freshness is counted for the first page of a successful incremental run', async () => {
    const { engine } = engineAt('2025-01-01T12:00:30Z', [
      connector(({ cursor, connection }) => {
        if ((connection.config as { fails?: boolean }).fails) throw new PermanentError('never');
        return { signals: [], nextCursor: 1, hasMore: cursor === undefined };
      }),
    ]);
    const [renewed, first, full, failed] = [
      await connect(placed),
      await connect(placed),
      await connect(placed),
      await connect(placed),
    ];
    await sql(
      `UPDATE connections SET last_incremental_ended_at = '2025-01-01T11:57:10Z', config = jsonb_build_object('fails', id = $2) WHERE id <> $1`,
      [first, failed],
    );
    await sql(`UPDATE connections SET metadata = jsonb_set(metadata, '{sync,cursor}', '1') WHERE id = $1`, [
      full,
    ]);
    for (const id of [renewed, first, failed]) await job(id);
    await job(full, { job_type: 'full', cursor: '1' });
    await engine.drain();
    const [row] = await sql<Record<string, number>>(
      `SELECT ${Array.from({ length: 12 }, (_, i) => `sum(age_${i})::int AS age_${i}`).join(', ')} FROM rollups WHERE tenant_id = $1`,
      [operatorId],
    );
    // 200 s is between 120 and 300 s.
    expect(Object.entries(row ?? {}).filter(([, count]) => count > 0)).toEqual([['age_3', 1]]);
    expect((await engine.stats.series()).points.at(-1)?.freshnessP50Seconds).toBe(210);
  });
});

describe('stats.series', () => {
  const count = (at: string, succeeded: number, tenantId = operatorId, slot = 0) =>
    sql(`INSERT INTO rollups SELECT $1, $2, 'github', $3, $4, 0, 0, 0${', 0'.repeat(24)}`, [
      tenantId,
      at,
      slot,
      succeeded,
    ]);

  it('stats: series() has a point per step; the last step is the current one', async () => {
    await count('2025-01-01T12:00:00Z', 1);
    await count('2025-01-01T12:00:00Z', 2, operatorId, 1);
    await count('2025-01-01T11:57:00Z', 4);
    await count('2025-01-01T11:55:00Z', 8);
    await count('2025-01-01T12:00:00Z', 16, tenant);
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    const series = await engine.stats.series({ minutes: 5 });
    expect(series).toMatchObject({
      from: new Date('2025-01-01T11:56:00Z'),
      to: new Date('2025-01-01T12:01:00Z'),
      stepSeconds: 60,
    });
    expect(series.points.map(({ at, succeeded }) => [at.toISOString().slice(11, 16), succeeded])).toEqual([
      ['11:56', 0],
      ['11:57', 4],
      ['11:58', 0],
      ['11:59', 0],
      ['12:00', 3],
    ]);
    const empty = { failed: 0, retried: 0, signals: 0, lagP50Ms: undefined, freshnessP95Seconds: undefined };
    expect(series.points[0]).toMatchObject(empty);
    const theirs = await engine.as(tenantView).stats.series({ minutes: 5 });
    expect(theirs.points.map(({ succeeded }) => succeeded)).toEqual([0, 0, 0, 0, 16]);
  });

  it('stats: series() includes the current minute from its first millisecond', async () => {
    await count('2025-01-01T12:00:00Z', 1);
    const { engine } = engineAt('2025-01-01T12:00:00.000Z');
    expect((await engine.stats.series({ minutes: 5 })).points.map(({ succeeded }) => succeeded)).toEqual([
      0, 0, 0, 0, 1,
    ]);
  });

  it.each([
    [5, 60, 5],
    [120, 60, 120],
    [121, 300, 25],
    [600, 300, 120],
    [24 * 60, 900, 96],
    [48 * 60, 3600, 48],
    [7 * 24 * 60, 7200, 84],
  ])('stats: a series of %i minutes has steps of %i s', async (minutes, stepSeconds, points) => {
    const { engine } = engineAt('2025-01-08T12:34:56Z');
    const series = await engine.stats.series({ minutes });
    expect(series.stepSeconds).toBe(stepSeconds);
    expect(series.points).toHaveLength(points);
    expect(series.points.every(({ at }) => at.getTime() % (stepSeconds * 1000) === 0)).toBe(true);
    expect(series.to.getTime()).toBeGreaterThan(Date.parse('2025-01-08T12:34:56Z'));
  });

  it('stats: each minute is counted in its step, for every step size', async () => {
    for (let i = 0; i < 24 * 60; i += 7)
      await count(new Date(Date.parse('2025-01-01T00:00:00Z') + i * minuteMs).toISOString(), 1);
    const { engine } = engineAt('2025-01-01T23:59:30Z');
    for (const minutes of [24 * 60, 48 * 60, 7 * 24 * 60]) {
      const { points, stepSeconds } = await engine.stats.series({ minutes });
      expect(points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(206);
      for (const { at, succeeded } of points) {
        const last = new Date(at.getTime() + stepSeconds * 1000);
        const [row] = await sql(`SELECT count(*)::int AS n FROM rollups WHERE minute >= $1 AND minute < $2`, [
          at,
          last,
        ]);
        expect(row).toEqual({ n: succeeded });
      }
    }
  });

  it.each([[4], [7 * 24 * 60 + 1], [5.5]])('stats: series() rejects %s minutes', async (minutes) => {
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    await expect(engine.stats.series({ minutes })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('stats.overview', () => {
  it('stats: overview() counts connections by health, in total or per tenant', async () => {
    const since = '2025-01-01T00:00:00Z';
    for (const [tenantId, status, failing] of [
      [tenant, 'active', null],
      [tenant, 'active', null],
      [tenant, 'active', since],
      [tenant, 'paused', since],
      [tenant, 'needs_auth', since],
      [otherTenant, 'active', null],
      [otherTenant, 'disabled', null],
    ]) {
      const id = await connectFor(tenantId as string);
      await sql('UPDATE connections SET status = $2, failing_since = $3 WHERE id = $1', [
        id,
        status,
        failing,
      ]);
    }
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    const exactly = (counts: Record<string, number>) =>
      Object.fromEntries(Object.entries(counts).map(([key, n]) => [key, { count: n, atLeast: false }]));
    expect((await engine.stats.overview()).connections).toEqual(
      exactly({ total: 7, ok: 3, failing: 1, needsAuth: 1, paused: 1, disabled: 1 }),
    );
    expect((await engine.as(otherView).stats.overview()).connections).toEqual(
      exactly({ total: 2, ok: 1, failing: 0, needsAuth: 0, paused: 0, disabled: 1 }),
    );
  });

  it('stats: counts above 10,000 are lower bounds; unhealthy connections are counted exactly', async () => {
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, status, failing_since)
       SELECT $1, 'github', CASE n WHEN 10500 THEN 'paused' ELSE 'active' END, CASE n WHEN 10499 THEN now() END
       FROM generate_series(1, 10500) n`,
      [tenant],
    );
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    for (const view of [engine, engine.as(tenantView)])
      expect((await view.stats.overview()).connections).toMatchObject({
        total: { count: 10_000, atLeast: true },
        ok: { atLeast: true },
        failing: { count: 1, atLeast: false },
        paused: { count: 1, atLeast: false },
        disabled: { count: 0, atLeast: false },
      });
  });

  it('stats: only operators see the queue and the executors', async () => {
    await job(await connect(placed));
    await job(await connect(placed), { scheduled_at: '2025-01-01T12:00:31Z' });
    await job(await connect(placed), { retry_after: '2025-01-01T13:00:00Z', attempts: 1 });
    await job(await connect({ ...placed, status: 'paused' }));
    const busy = await connect(placed);
    await job(busy, { status: 'running' });
    await job(busy, { job_type: 'full' });
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       SELECT gen_random_uuid(), 'host', n, n * 10, '{github}', now(), '2025-01-01T12:00:30Z'::timestamptz + (2 - n) * interval '1 hour' FROM generate_series(1, 3) n`,
    );
    await sql(
      `INSERT INTO schedulers SELECT gen_random_uuid(), 'host', 1, now(), '2025-01-01T12:00:00Z'::timestamptz + n * interval '1 second', 5, 0 FROM generate_series(1, 3) n`,
    );
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    const seen = await engine.stats.overview();
    const exactly = (n: number) => ({ count: n, atLeast: false });
    expect(seen).toMatchObject({
      now: new Date('2025-01-01T12:00:30Z'),
      queue: { due: exactly(1), backingOff: exactly(1), blocked: exactly(2), running: exactly(1) },
      executors: { alive: 1, slots: 10 },
      lastTickAt: new Date('2025-01-01T12:00:03Z'),
      maxTickAgeSeconds: 180,
    });
    expect(await engine.as(tenantView).stats.overview()).toMatchObject({
      queue: undefined,
      executors: undefined,
    });
  });

  it('stats: lastHour covers sixty minutes, including the current one', async () => {
    for (const [at, succeeded] of [
      ['2025-01-01T11:00:00Z', 1],
      ['2025-01-01T11:01:00Z', 2],
      ['2025-01-01T12:00:00Z', 4],
    ])
      await sql(`INSERT INTO rollups SELECT $1, $2, 'github', 0, $3, 0, 0, 0${', 0'.repeat(24)}`, [
        operatorId,
        at,
        succeeded,
      ]);
    const { engine } = engineAt('2025-01-01T12:00:30Z');
    expect((await engine.stats.overview()).lastHour.succeeded).toBe(6);
  });
});

describe('stats.load', () => {
  const runsOf = async (view: { stats: ReturnType<typeof database.engine>['stats'] }) => {
    const { minutes, estimated } = await view.stats.load();
    expect(minutes).toHaveLength(60);
    expect(estimated).toBe(false);
    return minutes.flatMap(({ runs }, i) => (runs === 0 ? [] : [[i, runs]]));
  };
  const due = (at: string | undefined, interval?: unknown) => ({
    metadata: { sync: { next_run_at: at, interval_seconds: interval } },
  });

  it('stats: load() repeats every run at its interval plus mean jitter', async () => {
    const { engine } = engineAt('2025-01-01T12:00:00Z');
    await connect(due('2025-01-01T12:10:20Z', 1200));
    // 1200 s plus 10 %: every 22 minutes.
    expect(await runsOf(engine)).toEqual([
      [10, 1],
      [32, 1],
      [54, 1],
    ]);
    await connect(due('2025-01-01T12:10:59Z', 1200));
    await connect(due('2025-01-01T12:54:00Z', 86_400));
    await connect(due('2025-01-01T13:00:00Z', 1200));
    expect(await runsOf(engine)).toEqual([
      [10, 2],
      [32, 2],
      [54, 3],
    ]);
  });

  it('stats: load() starts with overdue and new connections; invalid intervals use the default', async () => {
    const { engine } = engineAt('2025-01-01T12:00:00Z');
    await connect(due('2024-01-01T00:00:00Z', 3600));
    await connect(due(undefined, 'often'));
    await connect(due(undefined, { seconds: 5 }));
    expect(await runsOf(engine)).toEqual([
      [0, 3],
      [16, 2],
      [33, 2],
      [49, 2],
    ]);
  });

  it('stats: load() counts active connections of the scope only', async () => {
    const { engine } = engineAt('2025-01-01T12:00:00Z');
    await connect({ ...due('2025-01-01T12:01:00Z', 86_400), status: 'paused' });
    await connectFor(tenant, 'github', due('2025-01-01T12:02:00Z', 86_400));
    await connectFor(otherTenant, 'github', due('2025-01-01T12:03:00Z', 86_400));
    expect(await runsOf(engine)).toEqual([
      [2, 1],
      [3, 1],
    ]);
    expect(await runsOf(engine.as(otherView))).toEqual([[3, 1]]);
  });

  it('stats: load() of more connections than a sample is estimated', async () => {
    const count = sized(60_000, 30_000);
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, metadata)
       SELECT $1, 'github', jsonb_build_object('sync', jsonb_build_object('interval_seconds', 86400, 'next_run_at', '2025-01-01T12:' || lpad((n % 60)::text, 2, '0') || ':00Z'))
       FROM generate_series(1, $2::int) n`,
      [tenant, count],
    );
    await sql('ANALYZE connections');
    const { engine } = engineAt('2025-01-01T12:00:00Z');
    const { minutes, estimated } = await engine.stats.load();
    expect(estimated).toBe(true);
    const total = minutes.reduce((sum, { runs }) => sum + runs, 0);
    expect(total).toBeGreaterThan((count * 2) / 3);
    expect(total).toBeLessThan((count * 4) / 3);
    await sql('TRUNCATE connections CASCADE');
    await sql('ANALYZE connections');
  });
});

describe('stats.attention', () => {
  const at = '2025-01-01T12:00:30Z';

  it('stats: attention() is empty without problems', async () => {
    const { engine } = engineAt(at, [connector()]);
    await job(await connect(placed));
    await engine.drain();
    expect(await engine.stats.attention()).toEqual([]);
  });

  it('stats: attention() groups failing connections by provider and kind, with an error', async () => {
    const ends: Record<string, Error> = {
      refused: new UnauthorizedError('token revoked'),
      broken: new PermanentError('no such repository'),
      shaky: new TransientError('HTTP 503'),
    };
    const failing = (provider: string) =>
      connector(({ connection }) => {
        throw ends[(connection.config as { end: string }).end];
      }, provider);
    const { engine, ports } = engineAt(at, [failing('github'), failing('slack')]);
    for (const [tenantId, provider, end] of [
      [tenant, 'github', 'refused'],
      [tenant, 'github', 'shaky'],
      [otherTenant, 'github', 'shaky'],
      [otherTenant, 'slack', 'broken'],
    ] as const) {
      const id = await connectFor(tenantId, provider);
      await sql('UPDATE connections SET config = $2 WHERE id = $1', [id, { end }]);
      await jobFor(id, tenantId, provider);
    }
    await engine.drain();
    ports.advance(minuteMs);
    const common = { atLeast: false, since: new Date(at), remedy: expect.stringMatching(/\.$/) };
    const refused = {
      ...common,
      cause: 'needs_auth',
      provider: 'github',
      failure: 'unauthorized',
      count: 1,
      message: 'token revoked',
      filter: { health: 'needs_auth', provider: 'github' },
    };
    const shaky = {
      ...common,
      cause: 'failing',
      provider: 'github',
      failure: 'transient',
      count: 2,
      message: 'HTTP 503',
      filter: { health: 'failing', provider: 'github' },
    };
    const broken = {
      ...common,
      cause: 'failing',
      provider: 'slack',
      failure: 'permanent',
      count: 1,
      message: 'no such repository',
      filter: { health: 'failing', provider: 'slack' },
    };
    expect(await engine.stats.attention()).toEqual([refused, shaky, broken]);
    expect(await engine.as(otherView).stats.attention()).toEqual(
      expect.arrayContaining([broken, { ...shaky, count: 1 }]),
    );
    expect(await engine.as(otherView).stats.attention()).toHaveLength(2);
    for (const { filter, count } of await engine.stats.attention())
      expect((await engine.connections.list(filter)).items).toHaveLength(count);
  });

  it('stats: attention() reports connections that were not placed for three ticks', async () => {
    const { engine, ports } = engineAt(at);
    const due = (minute: number) => ({
      metadata: { sync: { next_run_at: `2025-01-01T11:${minute}:00Z` } },
    });
    await connect(due(57));
    await connect(due(55));
    await connect(due(58));
    await sql(`UPDATE connections SET updated_at = '2025-01-01T00:00:00Z'`);
    expect(await engine.stats.attention()).toEqual([
      expect.objectContaining({
        cause: 'overdue',
        count: 2,
        atLeast: false,
        since: new Date('2025-01-01T11:55:00Z'),
      }),
    ]);
    await engine.tick();
    ports.advance(10 * minuteMs);
    expect((await engine.stats.attention()).map(({ cause }) => cause)).not.toContain('overdue');
  });

  it('stats: attention() does not report connections just created or resumed as overdue', async () => {
    const { engine, ports } = engineAt(at);
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    expect(await engine.stats.attention()).toEqual([]);
    ports.advance(3 * minuteMs);
    expect(await engine.stats.attention()).toMatchObject([{ cause: 'overdue', count: 1 }]);
    await engine.connections.pause(id);
    await engine.connections.resume(id);
    expect(await engine.stats.attention()).toEqual([]);
  });

  it('stats: attention() reports due jobs without an executor to operators', async () => {
    const { engine } = engineAt(at);
    const id = await connectFor(tenant, 'slack');
    await jobFor(id, tenant, 'slack', { scheduled_at: '2025-01-01T11:59:30Z' });
    await job(await connect(placed), { scheduled_at: '2025-01-01T11:59:31Z' });
    expect(await engine.stats.attention()).toEqual([
      expect.objectContaining({
        cause: 'unserved',
        provider: 'slack',
        remedy: expect.stringContaining('"slack"'),
      }),
    ]);
    expect(await engine.as(tenantView).stats.attention()).toEqual([]);
    const serve = (seconds: number) =>
      sql(
        `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
         VALUES (gen_random_uuid(), 'host', 1, 1, '{slack}', now(), $2::timestamptz + $1 * interval '1 second')`,
        [seconds, '2025-01-01T12:00:00Z'],
      );
    await serve(-1);
    expect(await engine.stats.attention()).toHaveLength(1);
    await serve(3600);
    expect(await engine.stats.attention()).toEqual([]);
  });
});
