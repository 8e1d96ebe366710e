import { beforeEach, describe, expect, it } from 'vitest';
import {
  PermanentError,
  type SyncContext,
  type Syncline,
  systemPorts,
  TransientError,
} from '../../../src/index.ts';
import { connector, signal } from '../../support/connector.ts';
import { useDatabase } from '../../support/database.ts';
import { recordingLogger } from '../../support/log.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const pending = (connection: string) =>
  sql(
    `SELECT job_type, status, priority, scheduled_at <= now() AS due, retry_after, cursor FROM sync_jobs
     WHERE connection_id = $1 AND status IN ('queued', 'running') ORDER BY job_type`,
    [connection],
  );

/** An engine whose runs block until `release`. */
function blockingEngine() {
  const started: SyncContext[] = [];
  const waiting: (() => void)[] = [];
  let onStart = () => {};
  const engine = database.engine({
    connectors: [
      connector(async (context) => {
        started.push(context);
        onStart();
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          context.abortSignal.addEventListener('abort', () => resolve());
        });
        return { signals: [signal(started.length)] };
      }),
    ],
  });
  const untilStarted = (count: number) =>
    new Promise<void>((resolve) => {
      onStart = () => started.length >= count && resolve();
      onStart();
    });
  return {
    engine,
    started,
    untilStarted,
    release: () => waiting.splice(0).forEach((resolve) => void resolve()),
  };
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('connections.trigger', () => {
  it('trigger: queues a job that is due now, above the priority of scheduled jobs', async () => {
    const id = await connect();
    const engine = database.engine();
    const { effect } = await engine.connections.trigger(id);
    expect(effect).toBe('queued');
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', priority: 10, due: true, retry_after: null, cursor: null },
    ]);
  });

  it('trigger: makes a queued job due now, also one that backs off, without a second job', async () => {
    const id = await connect();
    const waiting = await job(id, { scheduled_at: '2099-01-01', retry_after: '2099-01-01', cursor: '7' });
    const engine = database.engine();
    for (const priority of [3, 1])
      expect(await engine.connections.trigger(id, { priority })).toEqual({
        jobId: waiting,
        effect: 'brought_forward',
      });
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', priority: 3, due: true, retry_after: null, cursor: 7 },
    ]);
  });

  it('trigger: repeated triggers during a run cause exactly one more run', async () => {
    const id = await connect();
    await job(id);
    const { engine, untilStarted, started, release } = blockingEngine();
    const drained = engine.drain();
    await untilStarted(1);
    const answers = await Promise.all([1, 2, 3].map(() => engine.connections.trigger(id)));
    expect(answers.map(({ effect }) => effect)).toEqual(['follows', 'follows', 'follows']);
    release();
    await untilStarted(2);
    expect(started[1]?.job.id).not.toBe(started[0]?.job.id);
    release();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 2 });
  });

  it('trigger: the additional run and the next page are one job', async () => {
    const id = await connect();
    await job(id);
    let pages = 0;
    const engine: Syncline = database.engine({
      connectors: [
        connector(async ({ connection }) => {
          if (++pages === 1) await engine.connections.trigger(connection.id, { priority: 8 });
          return { signals: [signal(pages)], nextCursor: pages, hasMore: pages === 1 };
        }),
      ],
    });
    expect(await engine.drain()).toMatchObject({ claimed: 2, succeeded: 2 });
    expect(await sql('SELECT priority, cursor FROM sync_jobs WHERE cursor IS NOT NULL')).toEqual([
      { priority: 8, cursor: 1 },
    ]);
  });

  it('trigger: a retry counts as the additional run; a permanent failure is followed by one', async () => {
    for (const [error, claimed] of [
      [new TransientError('later'), 1],
      [new PermanentError('never'), 2],
    ] as const) {
      await database.empty();
      const id = await connect();
      await job(id);
      let runs = 0;
      const engine: Syncline = database.engine({
        connectors: [
          connector(async ({ connection }) => {
            if (++runs > 1) return { signals: [] };
            await engine.connections.trigger(connection.id);
            throw error;
          }),
        ],
      });
      expect((await engine.drain()).claimed).toBe(claimed);
      expect(await sql('SELECT FROM sync_jobs')).toHaveLength(claimed);
    }
  });

  it('trigger: a job of another type is queued beside the running one', async () => {
    const id = await connect();
    await job(id);
    const { engine, untilStarted, started, release } = blockingEngine();
    const drained = engine.drain();
    await untilStarted(1);
    expect((await engine.connections.trigger(id, { type: 'full' })).effect).toBe('queued');
    release();
    await untilStarted(2);
    expect(started[1]?.job.type).toBe('full');
    release();
    await drained;
  });

  it('trigger: wakes an executor whose next poll is a minute away', async () => {
    const id = await connect();
    const { log, lines } = recordingLogger('debug');
    const idle = database.engine({
      executor: { pollIntervalMs: 60_000 },
      connectors: [connector()],
      logger: log,
    });
    await idle.start({ roles: ['executor'] });
    await until(async () => (await sql('SELECT FROM processes')).length === 1);
    await database.engine().connections.trigger(id);
    await until(() => lines.some(({ msg }) => msg.startsWith('synced')));
  });

  it.each([
    [{ type: 'partial' as 'full' }, /type must be one of incremental, full, webhook, got "partial"/],
    [{ priority: 1.5 }, /priority must be a whole number from -32768 to 32767, got 1.5/],
    [{ actor: '' }, /actor must be .*, got ""/],
  ])('trigger: rejects %j', async (options, message) => {
    const id = await connect();
    await expect(database.engine().connections.trigger(id, options)).rejects.toThrow(message);
    expect(await pending(id)).toEqual([]);
  });

  it('trigger: rejects an inactive connection with a hint', async () => {
    const id = await connect({ status: 'paused' });
    await expect(database.engine().connections.trigger(id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is paused'),
      hint: 'Resume it first.',
    });
  });
});

describe('pause and resume', () => {
  it('pause: pause and resume are recorded with reason and actor, and explain() shows the reason', async () => {
    const id = await connect();
    const { connections } = database.engine();
    await connections.pause(id, { reason: 'moving accounts', actor: 'anna' });
    await connections.pause(id, { reason: 'again' });
    expect((await connections.explain(id)).sentence).toMatch(
      /^Paused by anna \d s ago \(.*\): moving accounts\. No new run starts until the connection is resumed\.$/,
    );
    await connections.resume(id, { actor: 'ben' });
    expect((await connections.get(id)).status).toBe('active');
    expect(await connections.events(id)).toEqual([
      expect.objectContaining({ kind: 'connection.resumed', actor: 'ben', reason: undefined }),
      expect.objectContaining({ kind: 'connection.paused', actor: 'anna', reason: 'moving accounts' }),
    ]);
  });

  it('pause: the current run is stored, and its follow-up waits', async () => {
    const id = await connect();
    await job(id);
    const { engine, untilStarted, release } = blockingEngine();
    const drained = engine.drain();
    await untilStarted(1);
    await engine.connections.trigger(id);
    await engine.connections.pause(id);
    release();
    expect(await drained).toMatchObject({ succeeded: 1, signals: 1 });
    expect(await pending(id)).toEqual([expect.objectContaining({ status: 'queued' })]);
  });
});

describe('jobs.cancel', () => {
  it('jobs.cancel: ends a queued job; the next run keeps its interval', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 600 } } });
    const queued = await job(id);
    const engine = database.engine();
    expect(await engine.jobs.cancel(queued, { reason: 'not now', actor: 'anna' })).toMatchObject({
      status: 'cancelled',
    });
    await engine.tick();
    expect(await pending(id)).toEqual([expect.objectContaining({ due: false })]);
    expect(await engine.connections.events(id)).toEqual([
      expect.objectContaining({ kind: 'job.cancelled', jobId: queued, reason: 'not now', actor: 'anna' }),
    ]);
  });

  it('jobs.cancel: aborts a running job without storing its result or a follow-up', async () => {
    const id = await connect();
    const running = await job(id);
    const { engine, started, untilStarted } = blockingEngine();
    const drained = engine.drain();
    await untilStarted(1);
    await engine.connections.trigger(id);
    await engine.jobs.cancel(running);
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 0, lost: 1 });
    expect(started[0]?.abortSignal.reason).toMatchObject({
      message: 'The run was aborted: its job was cancelled.',
    });
    expect(await sql('SELECT FROM signals')).toHaveLength(0);
    expect(await pending(id)).toEqual([]);
    expect(await sql('SELECT status, attempts FROM sync_jobs')).toEqual([
      { status: 'cancelled', attempts: 0 },
    ]);
  });

  it('jobs.cancel: rejects an ended or unknown job', async () => {
    const ended = await job(await connect(), { status: 'succeeded' });
    const { jobs } = database.engine();
    await expect(jobs.cancel(ended)).rejects.toMatchObject({ code: 'CONFLICT', message: /it is succeeded/ });
    await expect(jobs.cancel(await connect())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(jobs.cancel('7')).rejects.toThrow('job must be a UUID, got "7".');
  });
});

describe('jobs.retry', () => {
  it('jobs.retry: makes a job that backs off due now', async () => {
    const id = await connect();
    const waiting = await job(id, { retry_after: '2099-01-01', attempts: 4 });
    const engine = database.engine({ connectors: [connector()] });
    expect((await engine.jobs.retry(waiting)).id).toBe(waiting);
    expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1 });
  });

  it('jobs.retry: queues a new job for a failed one, from the cursor of the connection', async () => {
    const id = await connect();
    const failed = await job(id, { status: 'failed', cursor: '"old page"', priority: 3, job_type: 'full' });
    const retried = await database.engine().jobs.retry(failed);
    expect(retried).toMatchObject({
      status: 'queued',
      type: 'full',
      priority: 3,
      cursor: undefined,
      attempts: 0,
    });
    expect(retried.id).not.toBe(failed);
  });

  it('jobs.retry: rejects a running job', async () => {
    const running = await job(await connect(), { status: 'running' });
    await expect(database.engine().jobs.retry(running)).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('connections.explain', () => {
  const stateOf = async (id: string, engine = database.engine()) => {
    const { state, sentence } = await engine.connections.explain(id);
    expect(sentence).toMatch(/^[A-Z].*\.$/);
    return [state, sentence];
  };

  it('explain: says what blocks the connection, or when it runs next', async () => {
    // A stopped clock, so that the sentences do not depend on the duration of the test.
    const nowMs = Date.now();
    const ports = { ...systemPorts, databaseTime: () => new Date(nowMs) };
    const stoppedEngine = () => database.engine({ ports });
    const due = await connect();
    await job(due);
    expect(await stateOf(due, stoppedEngine())).toEqual([
      'unserved',
      expect.stringMatching(/due for .* no executor is running/),
    ]);

    const backingOff = await connect();
    await job(backingOff, {
      retry_after: new Date(nowMs + 600_000),
      attempts: 3,
      error: JSON.stringify({ message: 'HTTP 503' }),
    });
    expect(await stateOf(backingOff, stoppedEngine())).toEqual([
      'backing_off',
      expect.stringMatching(/^Waiting after 3 failures: HTTP 503\. Next attempt in 10 min/),
    ]);

    const later = await connect();
    await job(later, { scheduled_at: new Date(nowMs + 90_000) });
    await database.ended(later, new Date(nowMs - 60_000).toISOString(), 'failed');
    expect(await stateOf(later, stoppedEngine())).toEqual([
      'scheduled',
      expect.stringMatching(/^Next incremental run in 90 s .*\. Last run failed 60 s ago\.$/),
    ]);

    const foreign = await connect();
    await job(foreign, { status: 'running', started_at: new Date(nowMs - 5000) });
    expect(await stateOf(foreign, stoppedEngine())).toEqual([
      'running',
      expect.stringMatching(/, started 5 s ago, on a worker that Syncline does not manage/),
    ]);

    const fresh = await connect();
    expect(await stateOf(fresh)).toEqual([
      'unplaced',
      expect.stringMatching(/^Due now\. No runs yet\. The next scheduler tick \(within/),
    ]);

    const disabled = await connect({ status: 'disabled' });
    expect(await stateOf(disabled)).toEqual(['disabled', expect.any(String)]);
  });

  it('explain: considers running executors and their connectors', async () => {
    const id = await connect();
    const other = database.engine({ connectors: [connector(undefined, 'slack')] });
    await other.start({ roles: ['executor'] });
    await until(async () => (await sql('SELECT FROM processes')).length === 1);
    await job(id);
    expect(await stateOf(id)).toEqual([
      'unserved',
      expect.stringMatching(/no running executor has a connector for "github"/),
    ]);
    const { engine, untilStarted, release } = blockingEngine();
    const drained = engine.drain();
    await untilStarted(1);
    expect(await stateOf(id)).toEqual([
      'running',
      expect.stringMatching(
        new RegExp(`Running now: incremental sync, started \\d+ s ago, on .* \\(process ${process.pid}\\)`),
      ),
    ]);
    release();
    await drained;
  });
});
