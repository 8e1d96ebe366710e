import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { PermanentError, RateLimitedError, type SyncContext, type SyncResult } from '../../src/index.ts';
import { reap } from '../../src/pipeline/reap.ts';
import { openDatabase } from '../../src/store/database.ts';
import { testPorts } from '../support/clock.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const noon = '2025-01-01T12:00:00Z';

/** Simulates a process that died `minute` minutes after noon while running these jobs, and reaps it. */
async function dieWith(jobIds: string[], minute = 0, { released = false } = {}): Promise<string> {
  const id = randomUUID();
  await sql(
    `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at, released)
     VALUES ($1, 'web-1', $2::int, 1, '{}', now(), $3::timestamptz + $2::int * interval '1 minute', $4)`,
    [id, minute, noon, released],
  );
  await sql(
    `UPDATE sync_jobs SET status = 'running', retry_after = NULL, process_id = $1, claim_id = gen_random_uuid(), started_at = $3
     WHERE id = ANY ($2)`,
    [id, jobIds, noon],
  );
  const { config } = loadConfig({ options: { database: database.url } });
  const ports = testPorts('2025-01-01T12:30:00Z', () => 0);
  const db = openDatabase(config.database, { ports, onConnectionLost: () => {}, onSkew: () => {} });
  await reap({ db, ports, rateLimit: config.rateLimit }, id);
  await db.close();
  return id;
}

const stateOf = async (id: string) => {
  const [row] = await sql(
    `SELECT j.status, j.attempts, j.error ->> 'kind' AS kind, j.process_id,
       extract(epoch FROM j.retry_after - '2025-01-01T12:30:00Z')::int AS waits, jsonb_array_length(c.losses) AS losses, c.failure
     FROM sync_jobs j JOIN connections c ON c.id = j.connection_id WHERE j.id = $1`,
    [id],
  );
  return row;
};

const engineOf = (sync: (context: SyncContext) => SyncResult | Promise<SyncResult>) =>
  database.engine({ connectors: [connector(sync)] });

describe('EXE-9: a job whose process dies repeatedly', () => {
  it('EXE-9: the first death requeues the job, later ones add backoff, the fifth fails it', async () => {
    const id = await job(await connect());
    const states = [];
    for (let minute = 1; minute <= 5; minute++) {
      await dieWith([id], minute);
      states.push(await stateOf(id));
    }
    const queued = { status: 'queued', attempts: 0, process_id: null, failure: null };
    expect(states).toEqual([
      { ...queued, kind: null, waits: null, losses: 1 },
      { ...queued, kind: 'process_died', waits: 10, losses: 2 },
      { ...queued, kind: 'process_died', waits: 20, losses: 3 },
      { ...queued, kind: 'process_died', waits: 40, losses: 4 },
      {
        status: 'failed',
        attempts: 1,
        process_id: null,
        kind: 'process_died',
        waits: null,
        losses: 5,
        failure: 'process_died',
      },
    ]);
    const [connection] = await sql(
      `SELECT failing_since IS NOT NULL AS failing, last_incremental_ended_at AS ended, waits_for_job FROM connections`,
    );
    expect(connection).toEqual({
      failing: true,
      ended: new Date('2025-01-01T12:30:00Z'),
      waits_for_job: false,
    });
    expect(await sql('SELECT kind, job_id, tenant_id FROM events')).toEqual([
      { kind: 'job.poisoned', job_id: id, tenant_id: tenant },
    ]);
    expect(
      await sql(`SELECT sum(failed)::int AS failed FROM rollups WHERE tenant_id = $1`, [tenant]),
    ).toEqual([{ failed: 1 }]);
  });

  it('EXE-9: the error lists every death; only operators see hosts and process ids', async () => {
    const id = await job(await connect());
    for (let minute = 1; minute <= 5; minute++) await dieWith([id], minute);
    const engine = engineOf(() => ({ signals: [] }));
    const shown = await engine.jobs.get(id);
    expect(shown.error).toEqual({
      kind: 'process_died',
      name: 'ProcessDied',
      message:
        'The process that ran this job died 5 times in a row: leases ended at 2025-01-01T12:01:00.000Z, 2025-01-01T12:02:00.000Z, 2025-01-01T12:03:00.000Z, 2025-01-01T12:04:00.000Z, 2025-01-01T12:05:00.000Z. Processes: 1 on web-1, 2 on web-1, 3 on web-1, 4 on web-1, 5 on web-1.',
      at: '2025-01-01T12:30:00.000Z',
    });
    expect(shown.runs.map(({ outcome, error }) => [outcome, error?.kind])).toEqual(
      Array.from({ length: 5 }, () => ['lost', 'process_died']),
    );
    const tenants = await engine.as({ tenantId: tenant, actor: 'a tenant' }).jobs.get(id);
    expect(JSON.stringify(tenants)).not.toContain('web-1');
    expect(tenants.error?.message).toContain('died 5 times in a row');
    const { checks } = await engine.doctor();
    expect(checks.find(({ name }) => name === 'connections that crash processes')?.findings).toHaveLength(1);
  });

  it('EXE-9: the next job of the connection fails after one more death', async () => {
    const connection = await connect();
    const first = await job(connection);
    for (let minute = 1; minute <= 5; minute++) await dieWith([first], minute);
    const second = await job(connection);
    await dieWith([second], 6);
    expect(await stateOf(second)).toMatchObject({ status: 'failed', kind: 'process_died', losses: 5 });
  });

  it('EXE-9: a rerun requested while the job ran is queued after its failure, with backoff', async () => {
    const id = await job(await connect());
    for (let minute = 1; minute <= 4; minute++) await dieWith([id], minute);
    await sql('UPDATE sync_jobs SET hinted = true, rerun_priority = 10');
    await dieWith([id], 5);
    expect(
      await sql(
        `SELECT job_type, priority, retry_after > '2025-01-01T12:31:00Z' AS waits FROM sync_jobs WHERE status = 'queued'`,
      ),
    ).toEqual([{ job_type: 'incremental', priority: 10, waits: true }]);
  });

  it('EXE-9: a lease released by its own process counts no death', async () => {
    const id = await job(await connect());
    for (let minute = 1; minute <= 6; minute++) await dieWith([id], minute, { released: true });
    expect(await stateOf(id)).toMatchObject({ status: 'queued', attempts: 0, losses: null, waits: null });
  });

  it.each<[string, () => SyncResult, string]>([
    ['succeeds', () => ({ signals: [] }), 'succeeded'],
    [
      'fails',
      () => {
        throw new PermanentError('no');
      },
      'failed',
    ],
    [
      'is retried',
      () => {
        throw new Error('transient');
      },
      'queued',
    ],
    [
      'is parked',
      () => {
        throw new RateLimitedError({ retryAfterSeconds: 60, parked: true });
      },
      'queued',
    ],
  ])('EXE-9: a run that %s resets the count', async (_, sync, status) => {
    const id = await job(await connect(), { job_type: 'full' });
    for (let minute = 1; minute <= 4; minute++) await dieWith([id], minute);
    const engine = engineOf(sync);
    await engine.drain();
    expect(await stateOf(id)).toMatchObject({ status, losses: null });
    if (status === 'queued') {
      await dieWith([id], 5);
      expect(await stateOf(id)).toMatchObject({ status: 'queued', losses: 1, waits: null });
    }
  });
});

describe('EXE-9: suspect jobs', () => {
  async function suspects(count: number): Promise<string[]> {
    const ids = await Promise.all(Array.from({ length: count }, async () => job(await connect())));
    await dieWith(ids, 1);
    await dieWith(ids, 2);
    return ids;
  }

  it('EXE-9: a process runs one suspect job at a time, and other jobs in parallel', async () => {
    const suspected = new Set(await suspects(5));
    const innocent = await Promise.all(Array.from({ length: 4 }, async () => job(await connect())));
    const running = new Set<string>();
    const ended = new Set<string>();
    const runningSuspects: number[] = [];
    let release = () => {};
    const engine = engineOf(async ({ job: { id } }) => {
      running.add(id);
      runningSuspects.push([...running].filter((jobId) => suspected.has(jobId)).length);
      if (suspected.has(id))
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      running.delete(id);
      ended.add(id);
      return { signals: [] };
    });
    await engine.start({ roles: ['executor'] });
    await until('the other jobs end while a suspect runs', async () => innocent.every((id) => ended.has(id)));
    await until('one suspect runs', async () => running.size === 1);
    const waiting = () => sql(`SELECT FROM sync_jobs WHERE status = 'queued' AND retry_after IS NOT NULL`);
    await until('the other suspects are deferred', async () => (await waiting()).length === 4);
    await until('all ended, one after the other', async () => {
      release();
      await sql(`SELECT wake_executors('jobs')`);
      return ended.size === 9;
    });
    await engine.stop();
    expect(Math.max(...runningSuspects)).toBe(1);
    expect(await sql(`SELECT FROM sync_jobs WHERE status = 'succeeded'`)).toHaveLength(9);
  });
});
