import { beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());
const { run, runProcess, json } = useCli(database);

/** Contains an escape sequence that clears the terminal. */
const hostile = 'gone\u001b[2J\nsecond line';
const error = { kind: 'permanent', name: 'Error', message: hostile, at: '2025-01-01T10:00:00.000Z' };

const failed = { status: 'failed', finished_at: '2025-01-01T10:00:05Z', attempts: 2, error };

describe('syncline jobs list', () => {
  it('jobs list: applies filters', async () => {
    const [one, other] = [await database.connect(), await database.connect()];
    const queued = await database.job(one);
    const ended = await database.job(one, failed);
    const full = await database.job(other, { job_type: 'full' });
    const list = async (...filters: string[]) =>
      (await json<{ jobs: { id: string }[] }>('jobs', 'list', ...filters)).jobs.map(({ id }) => id).sort();
    expect(
      await Promise.all([
        list('--provider', 'github'),
        list('--connection', one, '--limit', '1'),
        list('--connection', one, '--status', 'failed'),
        list('--type', 'full'),
      ]),
    ).toEqual([[queued, ended, full].sort(), [queued], [ended], [full]]);
  });

  it('jobs list: escapes control characters in the table and reports an empty list', async () => {
    const id = await database.connect();
    const job = await database.job(id, failed);
    const { stdout } = await run('jobs', 'list');
    expect(stdout.trim().split('\n')[1]?.split(/ {2,}/)).toEqual([
      ...[job, id, 'github', 'incremental', 'failed', '2'],
      expect.stringMatching(/^\d+ days ago$/),
      expect.stringMatching(/^permanent: gone\\u001b/),
    ]);
    await database.empty();
    expect((await run('jobs', 'list')).stdout).toBe('No jobs found.\n');
  });

  it('jobs list: rejects invalid filters', async () => {
    const [status, connection] = await Promise.all([
      run('jobs', 'list', '--status', 'fail'),
      run('jobs', 'list', '--connection', 'mine'),
    ]);
    expectFailure(status, /--status must be one of .*, got "fail"\. Did you mean failed\?/);
    expectFailure(connection, /connection must be a UUID, got "mine"/);
  });
});

describe('syncline jobs show', () => {
  it('jobs show: prints all fields of a job', async () => {
    const connection = await database.connect();
    const id = await database.job(connection, { ...failed, cursor: { page: 3 }, priority: 7 });
    const [shown, { stdout }] = await Promise.all([json('jobs', 'show', id), run('jobs', 'show', id)]);
    expect(shown).toEqual({
      id,
      tenant_id: tenant,
      provider: 'github',
      connection_id: connection,
      connection_name: null,
      type: 'incremental',
      status: 'failed',
      priority: 7,
      attempts: 2,
      scheduled_at: '2025-01-01T00:00:00.000Z',
      retry_after: null,
      started_at: null,
      finished_at: '2025-01-01T10:00:05.000Z',
      duration_ms: null,
      signals: 0,
      cursor: { page: 3 },
      next_cursor: null,
      error: { ...error, hint: expect.any(String) },
      blocked: false,
      created_at: expect.stringMatching(/Z$/),
      verdict: `Failed: ${hostile}`,
      runs: [],
    });
    expect(stdout).toMatch(/error +permanent: gone\\u001b\[2J second line\n/);
    expect(stdout).toMatch(/ended +2025-01-01T10:00:05\.000Z \(\d+ days ago\)\n/);
    expect(stdout).toMatch(/cursor +\{"page":3\}\n/);
  });
});

describe('syncline jobs cancel and retry', () => {
  it('jobs: cancel ends a job once and records actor and reason', async () => {
    const connection = await database.connect();
    const id = await database.job(connection);
    const cancelled = await json('jobs', 'cancel', id, '--actor', 'ada', '--reason', 'not wanted');
    expect(cancelled).toMatchObject({ id, status: 'cancelled', finished_at: expect.any(String) });
    expect(await database.engine().connections.events(connection)).toMatchObject([
      { kind: 'job.cancelled', actor: 'ada', reason: 'not wanted', jobId: id },
    ]);
    expectFailure(await run('jobs', 'cancel', id), /has already ended \(cancelled\)/);
  });

  it('EXE-7: retry makes a job in backoff due immediately', async () => {
    const id = await database.job(await database.connect(), {
      attempts: 3,
      retry_after: '2100-01-01T00:00:00Z',
    });
    expect((await runProcess('jobs', 'retry', id)).stdout).toBe(`Job ${id} is due now.\n`);
    expect(await sql('SELECT id, retry_after FROM sync_jobs')).toEqual([{ id, retry_after: null }]);
  });

  it('jobs: retry of an ended job queues a new one', async () => {
    const id = await database.job(await database.connect(), failed);
    const { stdout } = await run('jobs', 'retry', id);
    const [queued] = await sql<{ id: string }>(`SELECT id FROM sync_jobs WHERE status = 'queued'`);
    expect(stdout).toBe(`Job ${id} has ended; queued new job ${queued?.id}.\n`);
  });

  it('jobs: rejects an unknown job', async () => {
    const nowhere = '00000000-0000-4000-8000-00000000dead';
    expectFailure(await run('jobs', 'retry', nowhere), new RegExp(`There is no job ${nowhere}`));
  });
});
