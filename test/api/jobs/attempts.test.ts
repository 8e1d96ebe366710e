import { beforeEach, describe, expect, it } from 'vitest';
import { PermanentError, systemPorts, TransientError } from '../../../src/index.ts';
import { startBlockingEngine } from '../../support/blocking-engine.ts';
import { testPorts } from '../../support/clock.ts';
import { connector, signal } from '../../support/connector.ts';
import { useDatabase } from '../../support/database.ts';
import { recordingLogger } from '../../support/log.ts';

const database = useDatabase();
const { sql, connect, job } = database;
beforeEach(() => database.empty());

const noon = new Date('2025-01-01T12:00:00Z');
const attempts = () => sql('SELECT * FROM attempts ORDER BY ended_at');

/** Runs a job `times` times, one minute apart. */
async function runs(
  sync: Parameters<typeof connector>[0],
  { times = 1, ...columns }: { times?: number } & Record<string, unknown> = {},
) {
  const ports = { ...testPorts(), newId: systemPorts.newId };
  const { log, lines } = recordingLogger('debug');
  const engine = database.engine({ ports, connectors: [connector(sync)], logger: log });
  const id = await job(await connect(), columns);
  for (let i = 0; i < times; i++) {
    await engine.drain();
    ports.advance(60_000);
  }
  return { engine, ports, lines, id, detail: await engine.jobs.get(id) };
}

describe('the runs of a job', () => {
  it('attempts: lists failed and successful runs with their errors and logs', async () => {
    const { detail } = await runs(
      ({ job, log }) => {
        log.info({ attempt: job.attempts }, 'asking');
        if (job.attempts < 2) throw new TransientError(`HTTP 50${job.attempts}`);
        log.warn('at last');
        return { signals: [signal(1)] };
      },
      { times: 3 },
    );
    const line = (level: string, message: string, fields = {}) => ({
      at: expect.stringMatching(/Z$/),
      level,
      message,
      fields,
    });
    expect(detail.runs).toEqual([
      {
        number: 1,
        outcome: 'retried',
        startedAt: noon,
        endedAt: noon,
        retryAfter: expect.any(Date),
        error: { kind: 'transient', name: 'TransientError', message: 'HTTP 500', at: noon.toISOString() },
        log: [line('info', 'asking', { attempt: 0 })],
      },
      expect.objectContaining({
        number: 2,
        outcome: 'retried',
        startedAt: new Date(noon.getTime() + 60_000),
        error: expect.objectContaining({ message: 'HTTP 501' }),
        log: [line('info', 'asking', { attempt: 1 })],
      }),
      {
        number: 3,
        outcome: 'succeeded',
        startedAt: new Date(noon.getTime() + 120_000),
        endedAt: new Date(noon.getTime() + 120_000),
        retryAfter: undefined,
        error: undefined,
        log: [line('info', 'asking', { attempt: 2 }), line('warn', 'at last')],
      },
    ]);
    expect(detail.verdict).toBe('Succeeded on try 3 in 0 ms: 1 new signal.');
  });

  it('attempts: runs without logs are listed, and the last one needs no row', async () => {
    const { detail } = await runs(
      ({ job }) => {
        if (job.attempts < 2) throw new TransientError('later');
        return { signals: [] };
      },
      { times: 3 },
    );
    expect(await attempts()).toHaveLength(2);
    expect(detail.runs.map(({ number, outcome, log }) => [number, outcome, log])).toEqual([
      [1, 'retried', []],
      [2, 'retried', []],
      [3, 'succeeded', []],
    ]);
  });

  it('attempts: a first run that succeeds without logs is derived from the job row', async () => {
    const { detail } = await runs(() => ({ signals: [signal(1), signal(2)] }));
    expect(await attempts()).toEqual([]);
    expect(detail.runs).toEqual([
      expect.objectContaining({ number: 1, outcome: 'succeeded', startedAt: noon, endedAt: noon }),
    ]);
    expect(detail.verdict).toBe('Succeeded in 0 ms: 2 new signals.');
  });

  it('attempts: a permanent failure without logs is derived from the job row', async () => {
    const { detail } = await runs(() => {
      throw new PermanentError('no such repository.');
    });
    expect(await attempts()).toEqual([]);
    expect(detail.runs).toEqual([
      expect.objectContaining({
        outcome: 'failed',
        error: expect.objectContaining({ kind: 'permanent', message: 'no such repository.' }),
      }),
    ]);
    expect(detail.verdict).toBe('Failed: no such repository.');
  });

  it('EXE-9: a run of a dead process is listed as lost, before the next run', async () => {
    const dead = '00000000-0000-4000-8000-0000000000dd';
    const id = await job(await connect(), {
      status: 'running',
      process_id: dead,
      claim_id: dead,
      started_at: '2025-01-01T11:59:00Z',
    });
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES ($1, 'gone', 1, 1, '{github}', now() - interval '2 hours', now() - interval '1 hour')`,
      [dead],
    );
    const engine = database.engine({ connectors: [connector()] });
    expect(await engine.drain()).toMatchObject({ succeeded: 1 });
    const detail = await engine.jobs.get(id);
    expect(detail.runs).toEqual([
      expect.objectContaining({
        number: 1,
        outcome: 'lost',
        startedAt: new Date('2025-01-01T11:59:00Z'),
        error: expect.objectContaining({
          kind: 'process_died',
          message: expect.stringMatching(/ died: its lease ended at .* Processes: 1 on gone\.$/),
        }),
      }),
      expect.objectContaining({ number: 2, outcome: 'succeeded' }),
    ]);
    expect(detail.attempts).toBe(0);
  });

  it('attempts: running and cancelled runs are derived from the job row', async () => {
    const id = await job(await connect());
    const { engine, untilStarted } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    const running = await engine.jobs.get(id);
    expect(running.runs).toEqual([
      expect.objectContaining({ number: 1, outcome: 'running', endedAt: undefined }),
    ]);
    expect(running.verdict).toMatch(/^Running for \d+ s\.$/);
    await engine.jobs.cancel(id);
    await drained;
    const cancelled = await engine.jobs.get(id);
    expect(cancelled.runs).toEqual([
      expect.objectContaining({ outcome: 'cancelled', endedAt: expect.any(Date), error: undefined }),
    ]);
    expect(cancelled.verdict).toMatch(/^Cancelled \d+ s ago\. Nothing from an unfinished run was stored\.$/);
  });

  it('attempts: cancelling a job that backs off adds no run', async () => {
    const { id, engine } = await runs(() => {
      throw new TransientError('later');
    });
    await engine.jobs.cancel(id);
    expect((await engine.jobs.get(id)).runs.map(({ outcome }) => outcome)).toEqual(['retried']);
  });

  it('attempts: the verdict separates the error and the next try into two sentences', async () => {
    const error = JSON.stringify({ message: 'HTTP 503' });
    const { jobs } = database.engine({ ports: testPorts() });
    const waiting = await job(await connect(), { attempts: 1, error });
    expect((await jobs.get(waiting)).verdict).toBe(
      'Failed once; last error: HTTP 503. Next attempt as soon as a slot is free.',
    );
  });

  it('attempts: the verdict of a queued job says what it waits for', async () => {
    const { jobs } = database.engine({ ports: testPorts() });
    const verdict = async (columns: object, status = 'active') =>
      (await jobs.get(await job(await connect({ status }), { ...columns }))).verdict;
    expect(await verdict({})).toBe('Queued; runs as soon as a slot is free.');
    expect(await verdict({ scheduled_at: '2025-01-01T12:01:30Z' })).toBe('Queued; runs in 90 s.');
    expect(await verdict({}, 'paused')).toBe('Blocked: its connection is not active or runs another job.');
    const error = JSON.stringify({ message: 'HTTP 503.' });
    expect(await verdict({ attempts: 2, error, retry_after: '2025-01-01T12:05:00Z' })).toBe(
      'Failed 2 times; last error: HTTP 503. Next attempt in 5 min.',
    );
  });

  it('attempts: another tenant gets NOT_FOUND', async () => {
    const { id, engine } = await runs(({ log }) => {
      log.info('private');
      return { signals: [] };
    });
    const stranger = engine.as({ tenantId: '00000000-0000-4000-8000-000000000002', actor: 'stranger' });
    await expect(stranger.jobs.get(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('retention of attempts', () => {
  it('attempts: a job that keeps failing retains its last 100 attempts', async () => {
    const id = await job(await connect(), { attempts: 130 });
    await sql(
      `INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at)
       SELECT $1, gen_random_uuid(), 'retried', at, at FROM (
         SELECT '2024-01-01T00:00:00Z'::timestamptz + n * interval '1 hour' AS at FROM generate_series(1, 130) n) times`,
      [id],
    );
    const engine = database.engine({
      ports: testPorts(),
      connectors: [
        connector(() => {
          throw new TransientError('again');
        }),
      ],
    });
    await engine.drain();
    const { runs } = await engine.jobs.get(id);
    expect(runs).toHaveLength(100);
    expect(runs.at(-1)).toMatchObject({ number: 100, error: { message: 'again' }, endedAt: noon });
    expect(runs[0]?.startedAt).toEqual(new Date('2024-01-02T08:00:00Z'));
  });

  it('attempts: a job whose processes keep dying retains its last 100 attempts', async () => {
    const dead = '00000000-0000-4000-8000-0000000000dd';
    const id = await job(await connect(), {
      status: 'running',
      process_id: dead,
      claim_id: dead,
      started_at: '2025-01-01T11:59:00Z',
    });
    await sql(
      `INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at)
       SELECT $1, gen_random_uuid(), 'lost', at, at FROM (
         SELECT '2024-01-01T00:00:00Z'::timestamptz + n * interval '1 hour' AS at FROM generate_series(1, 300) n) times`,
      [id],
    );
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES ($1, 'gone', 1, 1, '{github}', now() - interval '2 hours', now() - interval '1 hour')`,
      [dead],
    );
    const engine = database.engine({ connectors: [connector()] });
    await engine.drain();
    expect(await attempts()).toHaveLength(100);
    const { runs } = await engine.jobs.get(id);
    expect(runs.slice(-2)).toEqual([
      expect.objectContaining({ outcome: 'lost', startedAt: new Date('2025-01-01T11:59:00Z') }),
      expect.objectContaining({ outcome: 'succeeded' }),
    ]);
  });

  it('attempts: are deleted with their jobs, by DELETE, TRUNCATE or with the connection', async () => {
    const noisy = ({ log }: { log: { info(text: string): void } }) => {
      log.info('hello');
      return { signals: [] };
    };
    for (const statement of ['DELETE FROM sync_jobs', 'TRUNCATE sync_jobs', 'DELETE FROM connections']) {
      await runs(noisy);
      expect(await attempts()).toHaveLength(1);
      await sql(statement);
      expect(await attempts()).toEqual([]);
    }
  });

  it('attempts: deleting a job keeps the attempts of others', async () => {
    const say = ({ log }: { log: { info(text: string): void } }) => {
      log.info('hello');
      return { signals: [] };
    };
    const [deleted, other] = [await runs(say), await runs(say)];
    await sql('DELETE FROM sync_jobs WHERE id = $1', [deleted.id]);
    expect(await attempts()).toEqual([expect.objectContaining({ job_id: other.id })]);
  });

  it('EXE-12: every line of a run goes to the log of the process, with its job', async () => {
    const { lines, id } = await runs(({ log }) => {
      for (let i = 0; i < 150; i++) log.info({ i }, 'line');
      return { signals: [] };
    });
    const logged = lines.filter(({ msg }) => msg === 'line');
    expect(logged).toHaveLength(150);
    expect(JSON.stringify(logged[149])).toContain(id);
  });

  it('attempts: fields named like secrets are redacted', async () => {
    const { detail } = await runs(({ log }) => {
      log
        .child({ apiKey: 's3cret-1' })
        .info({ token: 's3cret-2', page: 7, request: { headers: { Authorization: 's3cret-3' } } }, 'asking');
      return { signals: [] };
    });
    expect(detail.runs[0]?.log[0]?.fields).toEqual({
      apiKey: '[hidden]',
      token: '[hidden]',
      page: 7,
      request: { headers: { Authorization: '[hidden]' } },
    });
    const [stored] = await sql<{ text: string }>('SELECT a::text AS text FROM attempts a');
    expect(stored?.text).not.toContain('s3cret');
  });

  it('EXE-11: characters that Postgres cannot store are replaced in logs', async () => {
    const hostile = 'a\0b \ud800 c';
    const { detail } = await runs(({ log }) => {
      log.info({ [hostile]: hostile, nested: [hostile, '\udfff'], pair: '😀' }, hostile);
      return { signals: [signal(1)] };
    });
    expect(detail).toMatchObject({ status: 'succeeded', signals: 1 });
    const replaced = 'a\ufffdb \ufffd c';
    expect(detail.runs[0]?.log).toEqual([
      expect.objectContaining({
        message: replaced,
        fields: { [replaced]: replaced, nested: [replaced, '\ufffd'], pair: '😀' },
      }),
    ]);
  });
});
