import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineConnector, type Ports } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { createDatabaseClock } from '../../src/store/clock.ts';
import { newKey } from '../credentials/handles.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const dayMs = 24 * 3600 * 1000;
const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const skewed = (ms: number): Ports => ({ ...systemPorts, now: () => Date.now() + ms });

const failing = defineConnector({
  provider: 'github',
  name: 'GitHub',
  sync: async () => {
    throw new Error('unavailable');
  },
});

const secondsFromNow = async (column: string, table: string) =>
  (await sql<{ s: number }>(`SELECT extract(epoch FROM ${column} - now())::float8 AS s FROM ${table}`))[0]?.s;

describe('a process whose clock is 400 days ahead', () => {
  const ports = skewed(400 * dayMs);

  it('DB-6: ticks place runs by the database clock', async () => {
    const connection = await database.connect();
    await sql(
      `UPDATE connections SET last_incremental_ended_at = now() - interval '20 minutes' WHERE id = $1`,
      [connection],
    );
    expect((await database.engine({ ports }).tick()).scheduled).toBe(1);
    expect(Math.abs((await secondsFromNow('scheduled_at', 'sync_jobs')) ?? Number.NaN)).toBeLessThan(900);
    expect(
      await secondsFromNow(`(metadata #>> '{sync,next_run_at}')::timestamptz`, 'connections'),
    ).toBeLessThan(900);
  });

  it('DB-6: the janitor deletes nothing within retention', async () => {
    const connection = await database.connect();
    await database.ended(connection, new Date(Date.now() - dayMs).toISOString());
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       VALUES ($1, 'github', $2, 'opened', now(), '{}')`,
      [tenant, connection],
    );
    await sql(
      `INSERT INTO events (id, tenant_id, connection_id, kind, actor, created_at)
       VALUES (gen_random_uuid(), $1, $2, 'connection.paused', 'test', now())`,
      [tenant, connection],
    );
    let rounds = 0;
    const engine = database.engine({
      ports: {
        ...ports,
        sleep: (ms, signal) => {
          rounds++;
          return systemPorts.sleep(ms, signal);
        },
      },
      retention: { signalsDays: 30, endedJobsDays: 30, eventsDays: 30 },
    });
    await engine.start({ roles: ['janitor'] });
    await until('the janitor has finished a round', async () => rounds > 0);
    await engine.stop();
    const [left] = await sql<{ jobs: number; signals: number; events: number }>(
      `SELECT (SELECT count(*)::int FROM sync_jobs) AS jobs, (SELECT count(*)::int FROM signals) AS signals,
         (SELECT count(*)::int FROM events) AS events`,
    );
    expect(left).toEqual({ jobs: 1, signals: 1, events: 1 });
  });

  it('DB-6: claims no job before it is due by the database clock', async () => {
    const connection = await database.connect();
    await database.job(connection, { scheduled_at: new Date(Date.now() + 3600_000) });
    const { claimed } = await database.engine({ ports, connectors: [failing] }).drain();
    expect(claimed).toBe(0);
  });

  it('DB-6: retry_after counts from the database clock', async () => {
    await database.job(await database.connect());
    const { requeued } = await database.engine({ ports, connectors: [failing] }).drain();
    expect(requeued).toBe(1);
    expect(await secondsFromNow('retry_after', 'sync_jobs')).toBeLessThan(60);
  });

  it('DB-6: sessions expire by the database clock', async () => {
    const engine = database.engine({ ports });
    const { expiresAt } = await engine.access.openSession({
      actor: 'test',
      keyId: undefined,
      keyName: 'test',
    });
    expect(expiresAt.getTime()).toBeLessThan(Date.now() + 2 * dayMs);
  });

  it('DB-6: IDs sort among those of other processes, also before the engine starts', async () => {
    const ids = [
      (await database.engine({ ports }).tenants.create({ name: 'first' })).id,
      (await database.engine({ ports }).connections.create({ tenantName: 'second', provider: 'github' }))
        .tenantId,
      (
        await database.engine({ ports, credentials: { keys: [newKey()] } }).credentials.create({
          tenantId: tenant,
          provider: 'github',
          secret: { type: 'api_key', key: 'secret' },
        })
      ).id,
    ];
    // The time is the prefix, so a clock ahead would sort them after all others.
    for (const id of ids)
      expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBeLessThan(Date.now() + dayMs);
  });

  it('DB-6: deliveries are verified by the database clock, also before the engine starts', async () => {
    const times: number[] = [];
    const hooked = defineConnector({
      provider: 'github',
      name: 'GitHub',
      sync: async () => ({ signals: [] }),
      webhook: {
        secret: 'a secret of sixteen',
        verify: (_delivery, _secret, nowMs) => times.push(nowMs) > 0,
      },
    });
    const connection = await database.connect();
    const { webhooks } = database.engine({ ports, connectors: [hooked] });
    const delivery = { method: 'POST', headers: {}, body: Buffer.from('{}') };
    expect((await webhooks.deliver('github', connection, delivery)).verified).toBe(true);
    expect(times).toHaveLength(1);
    expect(times[0]).toBeLessThan(Date.now() + dayMs);
  });

  it('DB-6: the lease ends by the database clock; the skew is logged once, stored and reported by doctor', async () => {
    const warnings: string[] = [];
    const logger = pino(
      { level: 'warn' },
      { write: (line: string) => void warnings.push(JSON.parse(line).msg) },
    );
    await sql('DELETE FROM schedulers');
    const engine = database.engine({ ports, logger, connectors: [failing] });
    await engine.start();
    await until('the executor and the scheduler have their rows', async () => {
      const rows = await sql(
        `SELECT FROM processes p, schedulers s WHERE p.clock_skew_seconds > 86400 AND s.clock_skew_seconds > 86400`,
      );
      return rows.length > 0;
    });
    const leaseSeconds = await secondsFromNow('expires_at', 'processes');
    expect(leaseSeconds).toBeGreaterThan(0);
    expect(leaseSeconds).toBeLessThan(60);
    const { checks } = await database.engine().doctor();
    const findings = checks.flatMap(({ name, findings }) =>
      findings.map(({ message }) => `${name}: ${message}`),
    );
    expect(findings.filter((text) => text.startsWith('clocks of processes'))).toHaveLength(2);
    expect(findings.join('\n')).toContain("400 days ahead of the database's");
    expect(findings.filter((text) => text.startsWith('clock:'))).toEqual([]);
    await engine.stop();
    expect(
      warnings.filter((text) => text.includes("clock is 34560000 s ahead of the database's")),
    ).toHaveLength(1);
  });
});

describe('the database clock as tracked by a process', () => {
  function clockAt(wallMs: number) {
    const time = { wallMs, monotonicMs: 0 };
    const skews: number[] = [];
    const ports = { now: () => time.wallMs, monotonicMs: () => time.monotonicMs, databaseTime: () => null };
    return { time, skews, clock: createDatabaseClock(ports, (skew) => skews.push(skew)) };
  }

  it('DB-6: advances by the monotonic clock when the wall clock steps', async () => {
    const { clock, time } = clockAt(1_000_000);
    await clock.reading(async () => 1_000_000);
    time.monotonicMs += 5000;
    time.wallMs -= 2 * 3600_000;
    expect([clock.nowMs(), clock.isFresh()]).toEqual([1_005_000, true]);
    time.monotonicMs += 60_000;
    expect(clock.isFresh()).toBe(false);
  });

  it('DB-6: a slow response does not move the clock ahead', async () => {
    const { clock, time } = clockAt(1_000_000);
    await clock.reading(async () => {
      time.monotonicMs += 20_000;
      return 1_020_000;
    });
    expect(clock.nowMs()).toBe(1_020_000);
  });

  it('DB-6: a slow response is not a skew', async () => {
    const { clock, time, skews } = clockAt(1_000_000);
    await clock.reading(async () => {
      time.wallMs += 90_000;
      return 1_045_000;
    });
    expect([skews, clock.skewSeconds()]).toEqual([[], 0]);
  });

  it('DB-6: reports a skew of more than 30 s, and again after ten minutes', async () => {
    const { clock, time, skews } = clockAt(1_031_000);
    await clock.reading(async () => 1_000_000);
    await clock.reading(async () => 1_000_000);
    expect([skews, clock.skewSeconds()]).toEqual([[31_000], 31]);
    time.monotonicMs += 600_000;
    time.wallMs = 960_000;
    await clock.reading(async () => 1_000_000);
    expect(skews).toEqual([31_000, -40_000]);
    time.wallMs = 1_010_000;
    await clock.reading(async () => 1_000_000);
    expect([skews.length, clock.skewSeconds()]).toEqual([2, 10]);
  });
});
