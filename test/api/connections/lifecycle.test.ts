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

/** An engine whose runs go on until they are let go. */
function held() {
  const began: SyncContext[] = [];
  const waiting: (() => void)[] = [];
  let onBegin = () => {};
  const engine = database.engine({
    connectors: [
      connector(async (context) => {
        began.push(context);
        onBegin();
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          context.abortSignal.addEventListener('abort', () => resolve());
        });
        return { signals: [signal(began.length)] };
      }),
    ],
  });
  const hasBegun = (count: number) =>
    new Promise<void>((resolve) => {
      onBegin = () => began.length >= count && resolve();
      onBegin();
    });
  return { engine, began, hasBegun, letGo: () => waiting.splice(0).forEach((resolve) => void resolve()) };
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('connections.trigger', () => {
  it('queues a job that is due now, ahead of what the scheduler places', async () => {
    const id = await connect();
    const engine = database.engine();
    const { effect } = await engine.connections.trigger(id);
    expect(effect).toBe('queued');
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', priority: 10, due: true, retry_after: null, cursor: null },
    ]);
  });

  it('brings a waiting job forward, also one that backs off, and doubles nothing', async () => {
    const id = await connect();
    const waiting = await job(id, { scheduled_at: '2099-01-01', retry_after: '2099-01-01', cursor: '7' });
    const engine = database.engine();
    for (const priority of [3, 1])
      expect(await engine.connections.trigger(id, { priority })).toEqual({
        jobId: waiting,
        effect: 'brought forward',
      });
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', priority: 3, due: true, retry_after: null, cursor: 7 },
    ]);
  });

  it('while one is running, exactly one more follows it, however often it is asked for', async () => {
    const id = await connect();
    await job(id);
    const { engine, hasBegun, began, letGo } = held();
    const drained = engine.drain();
    await hasBegun(1);
    const answers = await Promise.all([1, 2, 3].map(() => engine.connections.trigger(id)));
    expect(answers.map(({ effect }) => effect)).toEqual(['follows', 'follows', 'follows']);
    letGo();
    await hasBegun(2);
    expect(began[1]?.job.id).not.toBe(began[0]?.job.id);
    letGo();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 2 });
  });

  it('the one more and the next page are one job', async () => {
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

  it('a run that fails and is tried again is the one more; one that has failed for good is followed by it', async () => {
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

  it('another type than the running one waits beside it', async () => {
    const id = await connect();
    await job(id);
    const { engine, hasBegun, began, letGo } = held();
    const drained = engine.drain();
    await hasBegun(1);
    expect((await engine.connections.trigger(id, { type: 'full' })).effect).toBe('queued');
    letGo();
    await hasBegun(2);
    expect(began[1]?.job.type).toBe('full');
    letGo();
    await drained;
  });

  it('wakes an executor that would not look for a minute', async () => {
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
    [{ type: 'partial' as 'full' }, /type is "partial"; it must be one of incremental, full, webhook/],
    [{ priority: 1.5 }, /priority is 1.5; it must be a whole number from -32768 to 32767/],
    [{ actor: '' }, /actor is ""/],
  ])('refuses %j', async (options, message) => {
    const id = await connect();
    await expect(database.engine().connections.trigger(id, options)).rejects.toThrow(message);
    expect(await pending(id)).toEqual([]);
  });

  it('refuses a connection that is not active, and says what to do', async () => {
    const id = await connect({ status: 'paused' });
    await expect(database.engine().connections.trigger(id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is paused'),
      hint: 'Resume it first.',
    });
  });
});

describe('pause and resume', () => {
  it('are kept as events with reason and actor, and the reason is told', async () => {
    const id = await connect();
    const { connections } = database.engine();
    await connections.pause(id, { reason: 'moving accounts', actor: 'anna' });
    await connections.pause(id, { reason: 'again' });
    expect((await connections.explain(id)).sentence).toMatch(
      /^It was paused by anna \d s ago \(.*\): moving accounts\. Nothing runs until it is resumed\.$/,
    );
    await connections.resume(id, { actor: 'ben' });
    expect((await connections.get(id)).status).toBe('active');
    expect(await connections.events(id)).toEqual([
      expect.objectContaining({ kind: 'connection.resumed', actor: 'ben', reason: undefined }),
      expect.objectContaining({ kind: 'connection.paused', actor: 'anna', reason: 'moving accounts' }),
    ]);
  });

  it('a run that had begun is stored; what follows it waits', async () => {
    const id = await connect();
    await job(id);
    const { engine, hasBegun, letGo } = held();
    const drained = engine.drain();
    await hasBegun(1);
    await engine.connections.trigger(id);
    await engine.connections.pause(id);
    letGo();
    expect(await drained).toMatchObject({ succeeded: 1, signals: 1 });
    expect(await pending(id)).toEqual([expect.objectContaining({ status: 'queued' })]);
  });
});

describe('jobs.cancel', () => {
  it('ends a queued job, and the scheduler does not place it again at once', async () => {
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

  it('aborts a running job at once; nothing that it found is stored, and nothing follows it', async () => {
    const id = await connect();
    const running = await job(id);
    const { engine, began, hasBegun } = held();
    const drained = engine.drain();
    await hasBegun(1);
    await engine.connections.trigger(id);
    await engine.jobs.cancel(running);
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 0, lost: 1 });
    expect(began[0]?.abortSignal.reason).toMatchObject({
      message: 'The run was aborted: its job was cancelled.',
    });
    expect(await sql('SELECT FROM signals')).toHaveLength(0);
    expect(await pending(id)).toEqual([]);
    expect(await sql('SELECT status, attempts FROM sync_jobs')).toEqual([
      { status: 'cancelled', attempts: 0 },
    ]);
  });

  it('refuses a job that has ended, and one that is not there', async () => {
    const ended = await job(await connect(), { status: 'succeeded' });
    const { jobs } = database.engine();
    await expect(jobs.cancel(ended)).rejects.toMatchObject({ code: 'CONFLICT', message: /it is succeeded/ });
    await expect(jobs.cancel(await connect())).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(jobs.cancel('7')).rejects.toThrow('job is "7"; it must be a UUID.');
  });
});

describe('jobs.retry', () => {
  it('runs a job that backs off at once', async () => {
    const id = await connect();
    const waiting = await job(id, { retry_after: '2099-01-01', attempts: 4 });
    const engine = database.engine({ connectors: [connector()] });
    expect((await engine.jobs.retry(waiting)).id).toBe(waiting);
    expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1 });
  });

  it('queues a new job for one that has failed, from the cursor of the connection', async () => {
    const id = await connect();
    const failed = await job(id, { status: 'failed', cursor: '"old page"', priority: 3, job_type: 'full' });
    const again = await database.engine().jobs.retry(failed);
    expect(again).toMatchObject({
      status: 'queued',
      type: 'full',
      priority: 3,
      cursor: undefined,
      attempts: 0,
    });
    expect(again.id).not.toBe(failed);
  });

  it('refuses a running job', async () => {
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

  it('says what stands in the way, or when it runs next', async () => {
    // A clock that stands still: how long the test takes must not show in the sentences.
    const nowMs = Date.now();
    const ports = { ...systemPorts, databaseTime: () => new Date(nowMs) };
    const still = () => database.engine({ ports });
    const due = await connect();
    await job(due);
    expect(await stateOf(due, still())).toEqual([
      'unserved',
      expect.stringMatching(/due since .* no executor is running/),
    ]);

    const backingOff = await connect();
    await job(backingOff, {
      retry_after: new Date(nowMs + 600_000),
      attempts: 3,
      error: JSON.stringify({ message: 'HTTP 503' }),
    });
    expect(await stateOf(backingOff, still())).toEqual([
      'backing_off',
      expect.stringMatching(/^It waits after 3 failures: HTTP 503\. The next try is in 10 min/),
    ]);

    const later = await connect();
    await job(later, { scheduled_at: new Date(nowMs + 90_000) });
    await database.ended(later, new Date(nowMs - 60_000).toISOString(), 'failed');
    expect(await stateOf(later, still())).toEqual([
      'scheduled',
      expect.stringMatching(/^Its next incremental run is in 90 s .*; the last one failed 60 s ago/),
    ]);

    const foreign = await connect();
    await job(foreign, { status: 'running', started_at: new Date(nowMs - 5000) });
    expect(await stateOf(foreign, still())).toEqual([
      'running',
      expect.stringMatching(/since 5 s, by a worker that is none of ours/),
    ]);

    const fresh = await connect();
    expect(await stateOf(fresh)).toEqual([
      'unplaced',
      expect.stringMatching(/^It is due; it has never run; a scheduler places/),
    ]);

    const disabled = await connect({ status: 'disabled' });
    expect(await stateOf(disabled)).toEqual(['disabled', expect.any(String)]);
  });

  it('knows which executors run, and what they have connectors for', async () => {
    const id = await connect();
    const other = database.engine({ connectors: [connector(undefined, 'slack')] });
    await other.start({ roles: ['executor'] });
    await until(async () => (await sql('SELECT FROM processes')).length === 1);
    await job(id);
    expect(await stateOf(id)).toEqual([
      'unserved',
      expect.stringMatching(/none of the 1 running executors has a connector for "github"/),
    ]);
    const { engine, hasBegun, letGo } = held();
    const drained = engine.drain();
    await hasBegun(1);
    expect(await stateOf(id)).toEqual([
      'running',
      expect.stringMatching(
        new RegExp(`running now: incremental sync, since \\d+ s, on .* \\(process ${process.pid}\\)`),
      ),
    ]);
    letGo();
    await drained;
  });
});
