import { beforeEach, describe, expect, it } from 'vitest';
import { startMetricsServer } from '../../src/cli/metrics-server.ts';
import { type Ports, type SyncContext, systemPorts } from '../../src/index.ts';
import { connector, signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { type LogLine, recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const count = async (where: string) => (await sql(`SELECT FROM sync_jobs WHERE ${where}`)).length;

/** A connector whose runs block until `release` or until they are aborted. */
function blockingConnector() {
  const contexts: SyncContext[] = [];
  const waiting: (() => void)[] = [];
  const blocking = connector(async (context) => {
    contexts.push(context);
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      context.abortSignal.addEventListener('abort', () => reject(context.abortSignal.reason));
    });
    return { signals: [signal(1)] };
  });
  return { blocking, contexts, release: () => waiting.splice(0).forEach((resolve) => void resolve()) };
}

/** Ports that record statements and can make them fail. */
function faultyPorts() {
  const statements: string[] = [];
  let fails = (_statement: string) => false;
  const ports: Ports = {
    ...systemPorts,
    query: (statement, send) => {
      statements.push(statement);
      return fails(statement) ? Promise.reject(new Error('Connection terminated unexpectedly')) : send();
    },
  };
  return {
    ports,
    statements,
    failWhen: (condition: (statement: string) => boolean) => {
      fails = condition;
    },
  };
}

const slowReaper: Ports['query'] = async (statement, send) => {
  if (statement.includes('FOR UPDATE SKIP LOCKED') && statement.includes('.processes'))
    await new Promise((resolve) => setTimeout(resolve, 100));
  return send();
};

describe('EXE-2: slots', () => {
  it('EXE-2: at most `concurrency` jobs run, and a free slot is refilled immediately', async () => {
    for (let i = 0; i < 12; i++) await job(await connect(), { scheduled_at: `2025-01-01T00:00:${10 + i}Z` });
    let running = 0;
    let maxRunning = 0;
    const release: (() => void)[] = [];
    const engine = database.engine({
      executor: { concurrency: 3, pollIntervalMs: 60_000 },
      connectors: [
        connector(async () => {
          maxRunning = Math.max(maxRunning, ++running);
          // The first run blocks until the end: an executor that waits for a whole batch would hang.
          if (release.length === 0) await new Promise<void>((resolve) => release.push(resolve));
          else await new Promise((resolve) => setTimeout(resolve, 1));
          running--;
          return { signals: [] };
        }),
      ],
    });
    const drained = engine.drain();
    await until(async () => (await count(`status = 'succeeded'`)) === 11);
    release[0]?.();
    expect(await drained).toMatchObject({ claimed: 12, succeeded: 12 });
    expect(maxRunning).toBe(3);
  });

  it('EXE-9: a run past maxRunSeconds is aborted and counts as a failure', async () => {
    await job(await connect());
    const { blocking, contexts } = blockingConnector();
    const engine = database.engine({ executor: { maxRunSeconds: 1 }, connectors: [blocking] });
    expect(await engine.drain()).toMatchObject({ requeued: 1 });
    expect(contexts[0]?.abortSignal.aborted).toBe(true);
    expect(
      await count(`status = 'queued' AND attempts = 1 AND error ->> 'message' LIKE '%longer than 1 s%'`),
    ).toBe(1);
  });
});

describe('EXE-9: the lease', () => {
  it('EXE-9: an abandoned lease is expired, even if an in-flight heartbeat renewed it', async () => {
    await job(await connect());
    const { blocking, contexts, release } = blockingConnector();
    const isAborted = () => contexts[0]?.abortSignal.aborted === true;
    let heartbeats = 0;
    // The first heartbeat arrives late, so the row outlives the local lease; the second after it ended.
    const query: Ports['query'] = async (statement, send) => {
      if (statement.startsWith('WITH renewed') && contexts.length > 0) {
        heartbeats++;
        if (heartbeats === 1) await new Promise((resolve) => setTimeout(resolve, 1000));
        if (heartbeats === 2) await until(isAborted);
      }
      return send();
    };
    const engine = database.engine({
      executor: { leaseSeconds: 2 },
      connectors: [blocking],
      ports: { ...systemPorts, query },
    });
    const drained = engine.drain();
    await until(() => contexts.length === 1);
    const [previous] = await sql<{ id: string }>('SELECT id FROM processes');
    await until(isAborted);
    await until(async () => (await sql('SELECT FROM processes WHERE id <> $1', [previous?.id])).length === 1);
    expect(
      await sql('SELECT FROM processes WHERE id = $1 AND expires_at > clock_timestamp()', [previous?.id]),
    ).toEqual([]);
    await until(() => contexts.length === 2);
    release();
    await drained;
  });

  it('EXE-9: a lost lease aborts every run, stores nothing, and is replaced by a new lease', async () => {
    await job(await connect());
    const { blocking, contexts, release } = blockingConnector();
    const { log, lines } = recordingLogger('warn');
    const engine = database.engine({ executor: { leaseSeconds: 2 }, connectors: [blocking], logger: log });
    const drained = engine.drain();
    await until(() => contexts.length === 1);
    // Simulates a process that sent no heartbeat for longer than its lease.
    await sql(`UPDATE processes SET expires_at = now() - interval '1 second'`);
    await until(() => contexts[0]?.abortSignal.aborted === true);
    expect(contexts[0]?.abortSignal.reason).toMatchObject({
      message: 'The run was aborted: its lease was lost.',
    });
    await until(() => contexts.length === 2);
    expect(contexts[1]?.job).toMatchObject({ id: contexts[0]?.job.id, attempts: 0 });
    release();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 1, lost: 1, signals: 1 });
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([expect.stringMatching(/lost its lease and 1 runs/)]),
    );
    expect(await sql('SELECT FROM signals')).toHaveLength(1);
  });

  it.each([
    ['deleted', 'DELETE FROM sync_jobs', 'deleted'],
    ['requeued', `UPDATE sync_jobs SET status = 'queued', scheduled_at = '2100-01-01'`, 'requeued, ended or'],
  ])('EXE-9: a run whose job was %s is aborted, and its log line states why', async (_, change, reason) => {
    await job(await connect());
    const { blocking, contexts } = blockingConnector();
    const { log, lines } = recordingLogger('warn');
    const engine = database.engine({ executor: { leaseSeconds: 2 }, connectors: [blocking], logger: log });
    const drained = engine.drain();
    await until(() => contexts.length === 1);
    await sql(change);
    expect(await drained).toMatchObject({ claimed: 1, lost: 1 });
    expect(contexts[0]?.abortSignal.reason).toMatchObject({ message: expect.stringContaining(reason) });
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining(`its job was ${reason}`)]);
  });

  it('EXE-9: while heartbeats fail nothing is claimed; after one lease the runs are aborted', async () => {
    await job(await connect());
    const { blocking, contexts, release } = blockingConnector();
    const { ports, failWhen } = faultyPorts();
    const engine = database.engine({
      executor: { leaseSeconds: 2, pollIntervalMs: 50 },
      connectors: [blocking],
      ports,
    });
    const drained = engine.drain();
    await until(() => contexts.length === 1);
    let heartbeats = 0;
    failWhen((statement) => statement.includes('.processes') && ++heartbeats > 0);
    await until(() => heartbeats > 0);
    await job(await connect());
    await until(() => contexts[0]?.abortSignal.aborted === true);
    expect(contexts).toHaveLength(1);
    failWhen(() => false);
    await until(() => contexts.length === 3);
    release();
    expect(await drained).toMatchObject({ succeeded: 2, lost: 1 });
    expect(await count(`status = 'succeeded' AND attempts = 0`)).toBe(2);
  });

  it('EXE-9: jobs of a dead process are requeued with unchanged attempts', async () => {
    const id = await job(await connect(), { attempts: 2 });
    const dead = '00000000-0000-4000-8000-00000000dead';
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES ($1, 'gone', 1, 1, '{}', now(), now() - interval '1 second')`,
      [dead],
    );
    await sql(
      `UPDATE sync_jobs SET status = 'running', process_id = $1, claim_id = gen_random_uuid(), started_at = now() WHERE id = $2`,
      [dead, id],
    );
    const { blocking, contexts, release } = blockingConnector();
    const engine = database.engine({ connectors: [blocking] });
    await engine.start({ roles: ['executor'] });
    await until(() => contexts.length === 1);
    expect(contexts[0]?.job).toMatchObject({ id, attempts: 2 });
    expect(await sql('SELECT FROM processes WHERE id = $1', [dead])).toHaveLength(0);
    release();
    await engine.stop();
  });

  it('EXE-9: drain() ends only after the jobs of dead processes have run', async () => {
    for (let i = 0; i < 5; i++) {
      await database.empty();
      const dead = '00000000-0000-4000-8000-00000000dead';
      await sql(
        `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
         VALUES ($1, 'gone', 1, 1, '{}', now(), now() - interval '1 second')`,
        [dead],
      );
      await job(await connect(), { status: 'running', process_id: dead, claim_id: dead });
      const slow = { ...systemPorts, query: slowReaper };
      const engine = database.engine({ ports: slow, connectors: [connector()] });
      expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1 });
    }
  });

  it('EXE-9: jobs of a process whose row was deleted are requeued', async () => {
    await job(await connect(), {
      status: 'running',
      process_id: '00000000-0000-4000-8000-00000000dead',
      claim_id: '00000000-0000-4000-8000-00000000dead',
    });
    const engine = database.engine({ connectors: [connector()] });
    await engine.start({ roles: ['executor'] });
    await until(async () => (await count(`status = 'succeeded' AND attempts = 0`)) === 1);
  });

  it('EXE-9: running jobs without a lease are not requeued', async () => {
    await job(await connect(), { status: 'running', started_at: '2020-01-01' });
    const engine = database.engine({ connectors: [connector()] });
    expect(await engine.drain()).toMatchObject({ claimed: 0 });
    expect(await count(`status = 'running'`)).toBe(1);
  });
});

describe('EXE-10: shutdown', () => {
  const stopped = (lines: LogLine[]) => lines.find(({ event }) => event === 'executor_stopped');

  it('EXE-9: stop() during registration leaves no lease behind', async () => {
    let resume = () => {};
    const held = new Promise<void>((resolve) => (resume = resolve));
    let isRegistering = false;
    const query: Ports['query'] = async (statement, send) => {
      if (/INSERT INTO \S+\.processes/.test(statement)) {
        isRegistering = true;
        await held;
      }
      return send();
    };
    const engine = database.engine({
      connectors: [blockingConnector().blocking],
      ports: { ...systemPorts, query },
    });
    await engine.start({ roles: ['executor'] });
    await until(() => isRegistering);
    const stopped = engine.stop();
    resume();
    await stopped;
    expect(await sql('SELECT FROM processes')).toEqual([]);
  });

  it('EXE-10: the database pool stays open until the server has closed', async () => {
    const { log, lines } = recordingLogger();
    const engine = database.engine({ connectors: [blockingConnector().blocking], logger: log });
    await engine.start({ roles: ['executor'] });
    let close = () => {};
    const stopped = engine.stop({ serving: new Promise<void>((resolve) => (close = resolve)) });
    await until(() => lines.some(({ event }) => event === 'executor_stopped'));
    expect(await engine.connections.list()).toMatchObject({ items: [] });
    close();
    await stopped;
    await expect(engine.connections.list()).rejects.toThrow();
  });

  it('EXE-10: runs may finish within the grace time, and no run starts', async () => {
    for (let i = 0; i < 4; i++) await job(await connect());
    const { blocking, contexts, release } = blockingConnector();
    const { log, lines } = recordingLogger();
    const engine = database.engine({ executor: { concurrency: 2 }, connectors: [blocking], logger: log });
    await engine.start({ roles: ['executor'] });
    await until(() => contexts.length === 2);
    const stopping = engine.stop();
    release();
    await stopping;
    expect(contexts).toHaveLength(2);
    expect(await count(`status = 'succeeded'`)).toBe(2);
    expect(await count(`status = 'queued' AND attempts = 0 AND process_id IS NULL`)).toBe(2);
    expect(stopped(lines)).toMatchObject({ finished: 2, put_back: 0 });
    expect(await sql('SELECT FROM processes')).toHaveLength(0);
  });

  it('EXE-10: runs that exceed the grace time are aborted and requeued with unchanged attempts', async () => {
    const ids = [await job(await connect(), { attempts: 3 }), await job(await connect())];
    const { blocking, contexts } = blockingConnector();
    const { log, lines } = recordingLogger();
    const engine = database.engine({
      executor: { shutdownGraceSeconds: 0 },
      connectors: [blocking],
      logger: log,
    });
    await engine.start({ roles: ['executor'] });
    await until(() => contexts.length === 2);
    await engine.stop();
    expect(contexts.every(({ abortSignal }) => abortSignal.aborted)).toBe(true);
    expect(await sql('SELECT id, status, attempts, claim_id FROM sync_jobs ORDER BY attempts DESC')).toEqual([
      { id: ids[0], status: 'queued', attempts: 3, claim_id: null },
      { id: ids[1], status: 'queued', attempts: 0, claim_id: null },
    ]);
    expect(stopped(lines)).toMatchObject({ finished: 0, put_back: 2 });
  });
});

describe('a session that holds a row lock', () => {
  it('EXE-5: a locked connection delays only its own commit, until the lock is released', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(await connect());
    for (const id of ids) await job(id);
    const holder = await database.session();
    await holder.query('BEGIN; SET LOCAL search_path TO syncline');
    const engine = database.engine({
      executor: { concurrency: 6 },
      connectors: [
        connector(async ({ connection }) => {
          if (connection.id === ids[0])
            await holder.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [ids[0]]);
          return { signals: [signal(1)] };
        }),
      ],
    });
    const drained = engine.drain();
    await until(async () => (await count(`status = 'succeeded'`)) === 5);
    await job(ids[1] as string);
    await until(async () => (await count(`status = 'succeeded'`)) === 6);
    await holder.query('COMMIT');
    expect(await drained).toMatchObject({ claimed: 7, succeeded: 7, requeued: 0, signals: 7 });
  });

  it('EXE-2: a locked connection of the highest priority does not block other priorities', async () => {
    const [held, free] = [await connect(), await connect()];
    await job(held, { priority: 5 });
    const other = await job(free);
    const holder = await database.session();
    await holder.query('BEGIN; SET LOCAL search_path TO syncline');
    await holder.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [held]);
    const engine = database.engine({ executor: { concurrency: 1 }, connectors: [connector()] });
    const drained = engine.drain();
    await until(async () => (await count(`status = 'succeeded' AND id = '${other}'`)) === 1);
    await holder.query('COMMIT');
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 2 });
  });
});

describe('EXE-10: a commit in progress at the end of the grace time', () => {
  it('EXE-10: a run that is committing when the grace time ends is counted as finished', async () => {
    await job(await connect());
    const { log, lines } = recordingLogger();
    const { ports } = faultyPorts();
    let release = () => {};
    let isStoring = false;
    const slow: Ports = {
      ...ports,
      query: async (statement, send) => {
        if (statement.includes('INTO "syncline".rollups'))
          await new Promise<void>((resolve) => {
            release = resolve;
            isStoring = true;
          });
        return ports.query(statement, send);
      },
    };
    const engine = database.engine({
      ports: slow,
      logger: log,
      executor: { shutdownGraceSeconds: 0 },
      connectors: [connector(() => ({ signals: [signal(1)] }))],
    });
    await engine.start({ roles: ['executor'] });
    await until(() => isStoring);
    const stopping = engine.stop();
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    await stopping;
    expect(await count(`status = 'succeeded'`)).toBe(1);
    expect(lines.find(({ event }) => event === 'executor_stopped')).toMatchObject({
      finished: 1,
      put_back: 0,
    });
  });
});

describe('an idle executor', () => {
  it('EXE-1: an idle executor sends fewer than 30 statements per minute', async () => {
    const { ports, statements } = faultyPorts();
    let sleptMs = 0;
    // The clock advances by the loops' sleeps, so a minute takes as long as its statements.
    const fast: Ports = {
      ...ports,
      monotonicMs: () => sleptMs,
      now: () => Date.parse('2025-01-01T12:00:00Z') + sleptMs,
      databaseTime: () => new Date(Date.parse('2025-01-01T12:00:00Z') + sleptMs),
      sleep: async (ms, signal) => {
        const wakeAtMs = sleptMs + ms;
        while (sleptMs < wakeAtMs && !signal.aborted) await new Promise(setImmediate);
      },
    };
    const engine = database.engine({ ports: fast, connectors: [connector()] });
    await engine.start({ roles: ['executor'] });
    const isQuiet = async () => {
      const before = statements.length;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return statements.length === before;
    };
    const hasStarted = async () =>
      ['WITH renewed', 'COMMIT'].every((start) => statements.some((text) => text.startsWith(start)));
    await until(hasStarted);
    await until(isQuiet);
    statements.length = 0;
    for (; sleptMs < 60_000; sleptMs += 1000) await until(isQuiet);
    expect(statements.length).toBeGreaterThan(10);
    expect(statements.length).toBeLessThan(30);
    await engine.stop();
  });

  it('EXE-1: finds jobs inserted without a notification by polling', async () => {
    const engine = database.engine({ executor: { pollIntervalMs: 50 }, connectors: [connector()] });
    await engine.start({ roles: ['executor'] });
    await until(async () => (await sql('SELECT FROM processes')).length === 1);
    await job(await connect());
    await until(async () => (await count(`status = 'succeeded'`)) === 1);
  });

  it('EXE-1: starts a future job when it is due, not at the next poll', async () => {
    await job(await connect(), { scheduled_at: new Date(Date.now() + 1500) });
    const engine = database.engine({ executor: { pollIntervalMs: 60_000 }, connectors: [connector()] });
    await engine.start({ roles: ['executor'] });
    await until(async () => (await count(`status = 'succeeded'`)) === 1);
    const [row] = await sql('SELECT started_at >= scheduled_at AS on_time FROM sync_jobs');
    expect(row).toEqual({ on_time: true });
  });
});

describe('EXE-12: telemetry', () => {
  it('EXE-12: every metric of the executor is recorded', async () => {
    const { meterProvider, url, close } = await startMetricsServer({ host: '127.0.0.1', port: 0 });
    const [succeeding, failing] = [await connect(), await connect()];
    for (const id of [succeeding, failing]) await job(id, { scheduled_at: new Date(Date.now() - 60_000) });
    const engine = database.engine({
      telemetry: { meterProvider },
      connectors: [
        connector(({ connection }) => {
          if (connection.id === failing) throw new Error('boom');
          return { signals: [signal(1, 'a'), signal(2, 'a'), signal(3)] };
        }),
      ],
    });
    await engine.drain();
    const text = await (await fetch(url)).text();
    await close();
    const value = (name: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    const labels = 'provider_slug="github",job_type="incremental"';
    expect(value('sync_executor_jobs_claimed_total')).toBe(2);
    expect(value(`sync_executor_jobs_finished_total{${labels},outcome="succeeded"}`)).toBe(1);
    expect(value(`sync_executor_jobs_finished_total{${labels},outcome="requeued"}`)).toBe(1);
    expect(value('sync_executor_signals_total{provider_slug="github"}')).toBe(2);
    expect(value('sync_executor_running_gauge')).toBe(0);
    expect(value('sync_executor_job_duration_ms_count')).toBe(2);
    expect(value('sync_executor_start_lag_ms_count')).toBe(2);
    expect(value('sync_executor_start_lag_ms_sum')).toBeGreaterThanOrEqual(120_000);
    expect(value('sync_executor_backoff_seconds_sum')).toBeGreaterThanOrEqual(5);
    expect(value('sync_executor_backoff_seconds_sum')).toBeLessThanOrEqual(5.5);
  });

  it('EXE-12: counts runs that lose their lease', async () => {
    const { meterProvider, url, close } = await startMetricsServer({ host: '127.0.0.1', port: 0 });
    const id = await job(await connect());
    const losingLease = connector(async () => {
      await sql('UPDATE sync_jobs SET claim_id = NULL, process_id = NULL WHERE id = $1', [id]);
      return { signals: [] };
    });
    await database.engine({ telemetry: { meterProvider }, connectors: [losingLease] }).drain();
    expect(await (await fetch(url)).text()).toContain('sync_executor_leases_lost_total 1');
    await close();
  });

  it('EXE-12: every log line of a connector names its job', async () => {
    const id = await connect();
    const jobId = await job(id);
    const { log, lines } = recordingLogger();
    const engine = database.engine({
      logger: log,
      connectors: [
        connector((context) => {
          context.log.info('hello');
          return { signals: [] };
        }),
      ],
    });
    await engine.drain();
    expect(lines.find(({ msg }) => msg === 'hello')).toMatchObject({
      job_id: jobId,
      connection_id: id,
      provider_slug: 'github',
      job_type: 'incremental',
    });
  });
});
