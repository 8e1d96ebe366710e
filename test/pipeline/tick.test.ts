import { beforeEach, describe, expect, it } from 'vitest';
import type { SynclineOptions } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, connect, ended } = database;
beforeEach(() => database.empty());

const at = (time: string) => new Date(`2025-01-01T${time}Z`);
const iso = (time: string) => `2025-01-01T${time}.000Z`;

function tick(time: string, options: SynclineOptions = {}) {
  return database.engine(options).tick({ at: at(time) });
}

interface Job {
  job_type: string;
  status: string;
  scheduled_at: Date;
  tenant_id: string;
  provider_slug: string;
}
const jobsOf = (id: string) =>
  sql<Job>(`SELECT * FROM sync_jobs WHERE connection_id = $1 AND status = 'queued'`, [id]);
const metadataOf = async (id: string) => {
  const [row] = await sql<{ metadata: { sync: Record<string, unknown> } & Record<string, unknown> }>(
    'SELECT metadata FROM connections WHERE id = $1',
    [id],
  );
  return row?.metadata;
};
const secondsAfter = (later: Date | undefined, earlier: string) =>
  ((later?.getTime() ?? Number.NaN) - at(earlier).getTime()) / 1000;

describe('SCH-1: a tick', () => {
  it('SCH-1: an active connection receives an incremental job', async () => {
    const id = await connect({ metadata: { sync: { next_run_at: iso('12:15:00') } } });
    await ended(id, iso('12:00:00'));
    await tick('12:15:00');
    const [job, ...others] = await jobsOf(id);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      job_type: 'incremental',
      status: 'queued',
      tenant_id: tenant,
      provider_slug: 'github',
    });
    const jitter = secondsAfter(job?.scheduled_at, '12:15:00');
    expect(jitter).toBeGreaterThanOrEqual(0);
    expect(jitter).toBeLessThanOrEqual(180);
    const { sync } = (await metadataOf(id)) ?? {};
    expect(sync).toEqual({ next_run_at: iso('12:30:00'), last_jitter_seconds: jitter });
  });

  it('SCH-1: job and metadata are written by one transaction', async () => {
    const id = await connect();
    await tick('12:00:00');
    const [row] = await sql<{ same: boolean }>(
      'SELECT c.xmin = j.xmin AS same FROM connections c JOIN sync_jobs j ON j.connection_id = c.id WHERE c.id = $1',
      [id],
    );
    expect(row?.same).toBe(true);
  });

  it.each(['paused', 'needs_auth', 'disabled'])('SCH-1: a %s connection gets no job', async (status) => {
    const id = await connect({ status });
    expect(await tick('12:00:00')).toMatchObject({ scheduled: 0, backlog: 0 });
    expect(await jobsOf(id)).toEqual([]);
  });

  it('SCH-1: small batches place all due connections', async () => {
    for (let i = 0; i < 7; i++) await connect();
    expect(await tick('12:00:00', { scheduler: { batchSize: 2 } })).toMatchObject({
      scheduled: 7,
      backlog: 7,
    });
  });

  it('DB-2: a tick keeps metadata keys that the engine does not own', async () => {
    const id = await connect({
      metadata: { team: 'a', sync: { cursor: { since: 'x' }, vendor: [1, { deep: null }] } },
    });
    await tick('12:00:00');
    expect(await metadataOf(id)).toMatchObject({
      team: 'a',
      sync: { cursor: { since: 'x' }, vendor: [1, { deep: null }] },
    });
  });
});

describe('SCH-2: eligible connections', () => {
  it.each([
    ['12:16:00', 1, 'within one tick'],
    ['12:16:01', 0, 'beyond one tick'],
  ])('SCH-2: a tick at 12:15 places a connection due at %s %i times (%s)', async (next, scheduled) => {
    const id = await connect({ metadata: { sync: { next_run_at: iso(next) } } });
    await ended(id, iso('12:01:00'));
    expect(await tick('12:15:00')).toMatchObject({ scheduled, backlog: 0 });
  });

  it('SCH-10: the backlog counts only overdue connections', async () => {
    for (const next of ['12:14:00', '12:15:00', '12:15:01', '12:16:00'])
      await connect({ metadata: { sync: { next_run_at: iso(next) } } });
    expect(await tick('12:15:00')).toMatchObject({ scheduled: 4, backlog: 2 });
  });

  it('SCH-2: a connection with the nil UUID is placed', async () => {
    await sql(
      `INSERT INTO connections (id, tenant_id, provider_slug) VALUES ('00000000-0000-0000-0000-000000000000', $1, 'github')`,
      [tenant],
    );
    expect(await tick('12:00:00')).toMatchObject({ scheduled: 1 });
  });

  it('SCH-2: a connection without next_run_at is due', async () => {
    await connect({ metadata: { sync: {} } });
    expect(await tick('12:00:00')).toMatchObject({ scheduled: 1, backlog: 1 });
  });

  it.each(['queued', 'running'])(
    'SCH-2: a connection whose incremental job is %s is skipped',
    async (status) => {
      const id = await connect({ metadata: { sync: { next_run_at: iso('12:00:00') } } });
      await sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status) VALUES ($1, 'github', $2, 'incremental', $3)`,
        [tenant, id, status],
      );
      const before = await metadataOf(id);
      expect(await tick('12:00:00')).toMatchObject({ scheduled: 0, skippedPending: 1, backlog: 0 });
      expect(await metadataOf(id)).toEqual(before);
    },
  );

  it('SCH-2: a running full job does not block an incremental job', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status) VALUES ($1, 'github', $2, 'full', 'running')`,
      [tenant, id],
    );
    expect(await tick('12:00:00')).toMatchObject({ scheduled: 1 });
  });

  it('SCH-2: a connection due again within a tick is deferred when it is placed', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 60 } } });
    await ended(id, iso('12:00:00'));
    expect(await tick('12:01:00')).toMatchObject({ scheduled: 1, skippedPending: 0 });
    expect(await tick('12:02:00')).toMatchObject({ scheduled: 0, skippedPending: 0 });
    await sql(
      `UPDATE sync_jobs SET status = 'succeeded', finished_at = scheduled_at WHERE connection_id = $1`,
      [id],
    );
    expect(await tick('12:02:00')).toMatchObject({ scheduled: 1 });
  });

  it('SCH-2: a deferred connection is placed again after its job has ended', async () => {
    const id = await connect({ created_at: iso('12:00:00') });
    await tick('12:00:00');
    await tick('13:00:00');
    expect(await tick('14:00:00')).toMatchObject({ scheduled: 0, skippedPending: 0 });
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = $2 WHERE connection_id = $1`, [
      id,
      iso('14:10:00'),
    ]);
    expect(await tick('14:25:00')).toMatchObject({ scheduled: 1 });
    const [job] = await jobsOf(id);
    expect(secondsAfter(job?.scheduled_at, '14:25:00')).toBeLessThanOrEqual(180);
  });
});

describe('SCH-3: the interval', () => {
  it('SCH-3: metadata overrides the default', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 300, next_run_at: iso('12:05:00') } } });
    await ended(id, iso('12:00:00'));
    await tick('12:05:00');
    expect((await metadataOf(id))?.sync['next_run_at']).toBe(iso('12:10:00'));
  });

  it('SCH-3: an override above the maximum is ignored and replaced by the default', async () => {
    const id = await connect({
      metadata: { sync: { interval_seconds: 7200, next_run_at: iso('12:15:00') } },
    });
    await ended(id, iso('12:00:00'));
    const result = await tick('12:15:00', { scheduler: { maxOverriddenIntervalSeconds: 3600 } });
    expect(result).toMatchObject({ scheduled: 1, invalidMetadata: 1 });
    expect((await metadataOf(id))?.sync).toMatchObject({
      interval_seconds: 900,
      next_run_at: iso('12:30:00'),
    });
  });

  it('SCH-3: a configured default interval applies to connections without one', async () => {
    const id = await connect();
    await ended(id, iso('12:00:00'));
    await tick('12:10:00', { scheduler: { defaultIntervalSeconds: 600 } });
    expect((await metadataOf(id))?.sync['next_run_at']).toBe(iso('12:20:00'));
  });
});

describe('SCH-4: jitter', () => {
  it('SCH-4: jitter is sampled per connection within the configured range', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => connect()));
    for (const id of ids) await ended(id, iso('12:00:00'));
    await tick('12:15:00', { scheduler: { jitterPctMin: 0.05, jitterPctMax: 0.3 } });
    const jitters = await Promise.all(
      ids.map(async (id) => (await metadataOf(id))?.sync['last_jitter_seconds'] as number),
    );
    for (const jitter of jitters) expect(jitter >= 45 && jitter <= 270).toBe(true);
    expect(new Set(jitters).size).toBeGreaterThan(10);
  });

  it('SCH-4: the stored jitter equals the applied jitter', async () => {
    const id = await connect();
    await ended(id, iso('12:00:00'));
    await tick('12:15:00', { scheduler: { jitterPctMin: 0.05, jitterPctMax: 0.05 } });
    const [job] = await jobsOf(id);
    expect(secondsAfter(job?.scheduled_at, '12:15:00')).toBe(45);
    expect((await metadataOf(id))?.sync['last_jitter_seconds']).toBe(45);
  });
});

describe('SCH-5: downtime and early ticks', () => {
  it.each([
    ['12:00:00', '12:15:00', '12:15:00', '12:30:00', 'on time'],
    ['10:00:00', '10:20:00', '10:15:00', '10:30:00', 'after downtime'],
    ['10:00:00', '10:14:00', '10:15:00', '10:30:00', 'a tick early'],
    ['10:00:00', '10:50:00', '10:45:00', '11:00:00', 'after longer downtime'],
  ])(
    'SCH-5: after last %s, a tick at %s places one job for %s, next run at %s (%s)',
    async (last, now, slot, next) => {
      const id = await connect({ metadata: { sync: { next_run_at: iso('10:15:00') } } });
      await ended(id, iso(last));
      if (last === '12:00:00') await sql(`UPDATE connections SET metadata = '{}' WHERE id = $1`, [id]);
      await tick(now, { scheduler: { jitterPctMax: 0 } });
      const jobs = await jobsOf(id);
      expect(jobs.map((job) => job.scheduled_at)).toEqual([at(slot)]);
      expect((await metadataOf(id))?.sync['next_run_at']).toBe(iso(next));
    },
  );

  it('SCH-5: an overdue run is due immediately, plus jitter', async () => {
    const id = await connect({ metadata: { sync: { next_run_at: iso('10:15:00') } } });
    await ended(id, iso('10:00:00'));
    await tick('10:20:00');
    const [job] = await jobsOf(id);
    expect(secondsAfter(job?.scheduled_at, '10:15:00')).toBeLessThanOrEqual(180);
    expect(await tick('10:20:00')).toMatchObject({ scheduled: 0 });
  });

  it('SCH-5: a ten-year outage places one job', async () => {
    const id = await connect({ metadata: { sync: { next_run_at: iso('10:15:00') } } });
    await ended(id, iso('10:00:00'));
    const engine = database.engine();
    const tenYearsLater = new Date('2035-01-01T10:07:00Z');
    expect(await engine.tick({ at: tenYearsLater })).toMatchObject({ scheduled: 1 });
    expect(await engine.tick({ at: tenYearsLater })).toMatchObject({ scheduled: 0 });
    expect((await metadataOf(id))?.sync['next_run_at']).toBe('2035-01-01T10:15:00.000Z');
  });

  it('SCH-5: simulated hours of ticks every minute run each interval once', async () => {
    const hours = sized(24, 6);
    const id = await connect({ created_at: iso('00:00:00'), metadata: { sync: { interval_seconds: 900 } } });
    const engine = database.engine({ scheduler: { jitterPctMax: 0 } });
    for (let minute = 0; minute < hours * 60; minute++) {
      const now = new Date(at('00:00:00').getTime() + minute * 60_000);
      await engine.tick({ at: now });
      // Each run ends when it is due.
      await sql(
        `UPDATE sync_jobs SET status = 'succeeded', finished_at = scheduled_at WHERE status = 'queued' AND scheduled_at <= $1`,
        [now],
      );
    }
    const runs = await sql<{ scheduled_at: Date }>(
      `SELECT scheduled_at FROM sync_jobs WHERE connection_id = $1 AND status = 'succeeded' ORDER BY scheduled_at`,
      [id],
    );
    expect(runs).toHaveLength(hours * 4);
    expect(
      runs.every((run, i) => run.scheduled_at.getTime() === at('00:00:00').getTime() + i * 900_000),
    ).toBe(true);
  });
});

describe('SCH-5: times written by a wrong clock', () => {
  it('SCH-5: placing a connection corrects a last end in the future', async () => {
    const id = await connect({ metadata: { sync: { next_run_at: iso('12:00:00') } } });
    await ended(id, '2999-01-01T00:00:00Z');
    await tick('12:00:00', { scheduler: { jitterPctMax: 0 } });
    expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:15:00')]);
    await sql(
      `UPDATE sync_jobs SET status = 'succeeded', finished_at = $2 WHERE connection_id = $1 AND status = 'queued'`,
      [id, iso('12:15:00')],
    );
    await tick('12:29:30', { scheduler: { jitterPctMax: 0 } });
    expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:30:00')]);
  });
});

describe('SCH-6: bootstrap', () => {
  it('SCH-6: the first job is due now, and next_run_at counts from first_activated_at', async () => {
    const id = await connect({ metadata: { sync: { first_activated_at: '2025-01-01T12:00:00Z' } } });
    await tick('12:00:40', { scheduler: { jitterPctMin: 0.1, jitterPctMax: 0.1 } });
    const [job] = await jobsOf(id);
    expect(job?.scheduled_at).toEqual(at('12:00:40'));
    expect((await metadataOf(id))?.sync).toEqual({
      first_activated_at: '2025-01-01T12:00:00Z',
      last_jitter_seconds: 90,
      next_run_at: iso('12:16:30'),
    });
  });

  it('SCH-6: without first_activated_at, next_run_at counts from created_at', async () => {
    const id = await connect({ created_at: iso('11:59:00') });
    await tick('12:00:00', { scheduler: { jitterPctMax: 0 } });
    expect((await metadataOf(id))?.sync['next_run_at']).toBe(iso('12:14:00'));
  });

  it.each([
    ['first_activated_at', { metadata: { sync: { first_activated_at: '2026-02-05T12:00:00Z' } } }],
    ['created_at', { created_at: '2026-02-05T12:00:00Z' }],
  ])('SCH-6: a %s 400 days ahead does not delay the second run', async (_field, columns) => {
    const id = await connect({ created_at: iso('12:00:00'), ...columns });
    await tick('12:00:00', { scheduler: { jitterPctMax: 0 } });
    expect((await metadataOf(id))?.sync['next_run_at']).toBe(iso('12:15:00'));
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = $2 WHERE connection_id = $1`, [
      id,
      iso('12:00:30'),
    ]);
    await tick('12:14:30', { scheduler: { jitterPctMax: 0 } });
    expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:15:30')]);
  });

  it('SCH-6: an old activation time places one job; while it is pending, no second', async () => {
    const id = await connect({ metadata: { sync: { first_activated_at: '2020-01-01T00:00:00Z' } } });
    expect(await tick('12:00:00')).toMatchObject({ scheduled: 1 });
    expect(await tick('12:01:00')).toMatchObject({ scheduled: 0 });
    await sql(`UPDATE sync_jobs SET status = 'succeeded', finished_at = $2 WHERE connection_id = $1`, [
      id,
      iso('12:01:30'),
    ]);
    await tick('12:02:00', { scheduler: { jitterPctMax: 0 } });
    expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:16:30')]);
  });

  it('SCH-6: a connection with only full jobs is bootstrapped', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at) VALUES ($1, 'github', $2, 'full', 'succeeded', $3)`,
      [tenant, id, iso('11:00:00')],
    );
    await tick('12:00:00');
    expect((await jobsOf(id))[0]?.scheduled_at).toEqual(at('12:00:00'));
  });
});

describe('SCH-8: history', () => {
  it.each(['succeeded', 'completed', 'failed', 'cancelled'])(
    'SCH-8: the next slot counts from a %s job',
    async (status) => {
      const id = await connect();
      await ended(id, iso('12:00:00'), status);
      await tick('12:15:00', { scheduler: { jitterPctMax: 0 } });
      expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:15:00')]);
    },
  );

  it('SCH-8: the next slot counts from the last run after its job is deleted', async () => {
    const id = await connect();
    await ended(id, iso('12:00:00'));
    await sql('DELETE FROM sync_jobs');
    await tick('12:20:00', { scheduler: { jitterPctMax: 0 } });
    expect((await jobsOf(id)).map((job) => job.scheduled_at)).toEqual([at('12:15:00')]);
  });
});
