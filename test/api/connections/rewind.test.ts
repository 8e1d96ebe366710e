import { beforeEach, describe, expect, it } from 'vitest';
import type { Syncline } from '../../../src/index.ts';
import { startBlockingEngine } from '../../support/blocking-engine.ts';
import { connector, signal } from '../../support/connector.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const syncOf = async (id: string) =>
  (
    await sql<{ sync: Record<string, unknown> }>(
      `SELECT metadata -> 'sync' AS sync FROM connections WHERE id = $1`,
      [id],
    )
  )[0]?.sync;
const lastEvent = async () =>
  (await sql('SELECT kind, actor, reason, connection_id, tenant_id, detail FROM events ORDER BY id DESC'))[0];
const pending = (id: string) =>
  sql(
    `SELECT job_type, status, cursor, claim_id, process_id FROM sync_jobs
     WHERE connection_id = $1 AND status IN ('queued', 'running') ORDER BY job_type`,
    [id],
  );

/** Syncs three pages, whose jobs store the cursors 1, 2 and 3; records the cursors of later runs. */
async function syncThreePages(id: string) {
  const cursors: unknown[] = [];
  const engine = database.engine({
    connectors: [
      connector(({ cursor }) => {
        cursors.push(cursor);
        const page = ((cursor as number | undefined) ?? 0) + 1;
        return { signals: [signal(page, `page ${page}`)], nextCursor: page, hasMore: page < 3 };
      }),
    ],
  });
  await job(id);
  await engine.drain();
  cursors.length = 0;
  return { engine, cursors };
}

describe('connections.rewind', () => {
  it('rewind: restores the cursor of a job; repeated signals are absorbed by their keys', async () => {
    const id = await connect({ metadata: { own: 1, sync: { interval_seconds: 600 } } });
    const { engine, cursors } = await syncThreePages(id);
    const [first] = await sql<{ id: string }>('SELECT id FROM sync_jobs WHERE next_cursor = $1', ['1']);
    const rewound = await engine.connections.rewind(
      id,
      { jobId: first?.id as string },
      { actor: 'anna', reason: 'a page was wrong' },
    );
    expect(rewound.sync).toMatchObject({ cursor: 1, intervalSeconds: 600 });
    expect(await sql('SELECT metadata FROM connections')).toEqual([
      { metadata: { own: 1, sync: { interval_seconds: 600, cursor: 1 } } },
    ]);
    expect(await lastEvent()).toEqual({
      kind: 'connection.rewound',
      actor: 'anna',
      reason: 'a page was wrong',
      connection_id: id,
      tenant_id: tenant,
      detail: { from: 3, to: 1 },
    });
    await job(id);
    expect(await engine.drain()).toMatchObject({ succeeded: 2, signals: 0 });
    expect(cursors).toEqual([1, 2]);
  });

  it.each([[{ since: '2025-01-01', pages: [1, null] }], [0], [false], ['']])(
    'rewind: accepts any cursor, such as %j',
    async (cursor) => {
      const id = await connect();
      const { engine, cursors } = await syncThreePages(id);
      expect((await engine.connections.rewind(id, { cursor })).sync.cursor).toEqual(cursor);
      expect((await lastEvent())?.['detail']).toEqual({ from: 3, to: cursor });
      await job(id);
      await engine.drain();
      expect(cursors[0]).toEqual(cursor);
    },
  );

  it('rewind: null removes the cursor, and the next run starts from the beginning', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 600 } } });
    const { engine, cursors } = await syncThreePages(id);
    expect((await engine.connections.rewind(id, { cursor: null })).sync.cursor).toBeUndefined();
    expect(await syncOf(id)).toEqual({ interval_seconds: 600 });
    expect((await lastEvent())?.['detail']).toEqual({ from: 3, to: null });
    await job(id);
    await engine.drain();
    expect(cursors).toEqual([undefined, 1, 2]);
  });

  it('rewind: the event of a connection without a cursor has from: null', async () => {
    const id = await connect();
    await database.engine().connections.rewind(id, { cursor: 'there' });
    expect((await lastEvent())?.['detail']).toEqual({ from: null, to: 'there' });
  });

  it('rewind: aborts the current run, and the same job restarts from the new cursor', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    await job(id);
    const { engine, startedRuns, untilStarted, release } = startBlockingEngine(
      database,
      (run) => `stored by run ${run}`,
    );
    const drained = engine.drain();
    await untilStarted(1);
    await engine.connections.rewind(id, { cursor: 'new' });
    await untilStarted(2);
    expect(startedRuns[0]?.abortSignal.aborted).toBe(true);
    expect(startedRuns.map(({ cursor }) => cursor)).toEqual(['old', 'new']);
    expect(startedRuns[1]?.job).toMatchObject({ id: startedRuns[0]?.job.id, attempts: 0 });
    release();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 1, lost: 1, failed: 0, requeued: 0 });
    expect(await sql('SELECT payload FROM signals')).toEqual([{ payload: 2 }]);
    expect(await syncOf(id)).toEqual({ cursor: 'stored by run 2' });
  });

  it('rewind: a requeued job has no claim, so the result of its run is discarded', async () => {
    const [id, process] = [await connect(), '00000000-0000-4000-8000-0000000000dd'];
    await job(id, { status: 'running', process_id: process, claim_id: process, cursor: '7' });
    await database.engine().connections.rewind(id, { cursor: 2 });
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', cursor: null, claim_id: null, process_id: null },
    ]);
  });

  it('rewind: discards the result of a run that ends concurrently', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    await job(id);
    const cursors: unknown[] = [];
    const engine: Syncline = database.engine({
      connectors: [
        connector(async ({ cursor }) => {
          if (cursors.push(cursor) > 1) return { signals: [] };
          await engine.connections.rewind(id, { cursor: 'new' });
          return { signals: [signal('stale')], nextCursor: 'stale', hasMore: true };
        }),
      ],
    });
    expect(await engine.drain()).toMatchObject({ succeeded: 1, lost: 1, signals: 0 });
    expect(cursors).toEqual(['old', 'new']);
    expect(await syncOf(id)).toEqual({ cursor: 'new' });
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(1);
  });

  it('rewind: the restarted run also serves a trigger received meanwhile', async () => {
    const id = await connect();
    await job(id);
    const { engine, startedRuns, untilStarted, release } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    await engine.connections.trigger(id, { priority: 8 });
    await engine.connections.rewind(id, { cursor: 'new' });
    await untilStarted(2);
    expect(await sql('SELECT priority, rerun_priority FROM sync_jobs')).toEqual([
      { priority: 8, rerun_priority: null },
    ]);
    release();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 1, lost: 1 });
    expect(startedRuns).toHaveLength(2);
  });

  it.each(['"text"', '[1]', '5', 'null', '{"sync": [1]}', '{"sync": "x"}', '{"own": 1}'])(
    'rewind: works with metadata of any shape, such as %s',
    async (metadata) => {
      const id = await connect();
      await sql('UPDATE connections SET metadata = $1', [metadata]);
      const { connections } = database.engine();
      expect((await connections.rewind(id, { cursor: null })).sync.cursor).toBeUndefined();
      expect((await connections.rewind(id, { cursor: 1 })).sync.cursor).toBe(1);
    },
  );

  it.each([
    ['NUL', 'a\0'],
    ['a lone surrogate', ['\ud800']],
    ['NUL in a key', { 'k\0': 1 }],
    ['a function', () => 1],
    ['a bigint', 10n],
  ])('rewind: rejects a cursor that cannot be stored: %s', async (_name, cursor) => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    await expect(database.engine().connections.rewind(id, { cursor })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^cursor must be JSON without NUL/),
    });
    expect(await syncOf(id)).toEqual({ cursor: 'old' });
  });

  it('rewind: the event contains only the size and the beginning of a large cursor', async () => {
    const large = { text: 'é'.repeat(50_000) };
    const id = await connect({ metadata: { sync: { cursor: large } } });
    await database.engine().connections.rewind(id, { cursor: { page: 2 } });
    const json = JSON.stringify(large);
    const beginning = Buffer.from(json)
      .subarray(0, 2048)
      .toString()
      .replace(/\uFFFD$/, '');
    expect((await lastEvent())?.['detail']).toEqual({
      from: { $truncated: { bytes: Buffer.byteLength(json), beginning } },
      to: { page: 2 },
    });
    await database.engine().connections.rewind(id, { cursor: large });
    expect((await syncOf(id))?.['cursor']).toEqual(large);
    expect((await lastEvent())?.['detail']).toMatchObject({ to: { $truncated: { beginning } } });
  });

  it('rewind: a queued page loses its own cursor and runs from the new one', async () => {
    const id = await connect();
    const { engine, cursors } = await syncThreePages(id);
    await job(id, { cursor: '7' });
    await engine.connections.rewind(id, { cursor: 2 });
    expect(await pending(id)).toEqual([
      { job_type: 'incremental', status: 'queued', cursor: null, claim_id: null, process_id: null },
    ]);
    await engine.drain();
    expect(cursors).toEqual([2]);
  });

  it('rewind: a run of a worker that Syncline does not manage is a CONFLICT', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    const foreign = await job(id, { status: 'running', started_at: '2025-01-01T00:00:00Z' });
    await job(id, { job_type: 'full', cursor: '7' });
    await expect(database.engine().connections.rewind(id, { cursor: 'new' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `Job ${foreign} is running on a worker that Syncline does not manage.`,
      hint: 'Wait until it has ended, or cancel it.',
    });
    expect(await syncOf(id)).toEqual({ cursor: 'old' });
    expect(await pending(id)).toEqual([
      expect.objectContaining({ job_type: 'full', cursor: 7 }),
      expect.objectContaining({ job_type: 'incremental', status: 'running' }),
    ]);
    expect(await sql('SELECT FROM events')).toHaveLength(0);
  });

  it.each([
    ['of another connection', { next_cursor: '1' }, true],
    ['that stored no cursor', {}, false],
  ])('rewind: rejects a job %s', async (_name, columns, isOther) => {
    const [id, other] = [await connect({ metadata: { sync: { cursor: 'old' } } }), await connect()];
    const jobId = await job(isOther ? other : id, { status: 'succeeded', ...columns });
    await expect(database.engine().connections.rewind(id, { jobId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `Job ${jobId} stored no cursor for connection ${id}.`,
    });
    expect(await syncOf(id)).toEqual({ cursor: 'old' });
  });

  it('rewind: rejects invalid ids and an unknown connection', async () => {
    const id = await connect();
    const { connections } = database.engine();
    await expect(connections.rewind(id, { jobId: '7' })).rejects.toThrow('jobId must be a UUID, got "7".');
    await expect(connections.rewind('7', { cursor: 1 })).rejects.toThrow('must be a UUID');
    await expect(connections.rewind(tenant, { cursor: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('rewind: a connection of another tenant is NOT_FOUND', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    const stranger = database.engine().as({ tenantId: id, actor: 'stranger' });
    await expect(stranger.connections.rewind(id, { cursor: 1 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await syncOf(id)).toEqual({ cursor: 'old' });
  });
});

describe('connections.cursors', () => {
  it('cursors: lists the stored cursors, newest first, and marks the current one', async () => {
    const id = await connect();
    const { engine } = await syncThreePages(id);
    await job(id, { status: 'failed' });
    const { items, nextCursor } = await engine.connections.cursors(id);
    expect(nextCursor).toBeUndefined();
    expect(items.map(({ cursor, current }) => [cursor, current]).toSorted()).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    await engine.connections.rewind(id, { jobId: items.find(({ cursor }) => cursor === 2)?.jobId as string });
    const after = await engine.connections.cursors(id);
    expect(after.items.filter(({ current }) => current).map(({ cursor }) => cursor)).toEqual([2]);
  });

  it('cursors: compares cursors by value, in any order of keys', async () => {
    const id = await connect({ metadata: { sync: { cursor: { b: [1], a: 2 } } } });
    await job(id, { status: 'succeeded', next_cursor: '{"a": 2, "b": [1]}' });
    await job(id, { status: 'succeeded', next_cursor: '{"a": 2, "b": [2]}' });
    const { items } = await database.engine().connections.cursors(id);
    expect(items.map(({ current }) => current).toSorted()).toEqual([false, true]);
  });

  it('cursors: pages join without gaps, also when many jobs ended at the same time', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at, next_cursor)
       SELECT $1, 'github', $2, 'incremental', 'succeeded', '2025-01-01T12:00:00.123456Z'::timestamptz + n / 10 * interval '1 microsecond', to_jsonb(n)
       FROM generate_series(0, 24) n`,
      [tenant, id],
    );
    const { connections } = database.engine();
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await connections.cursors(id, { cursor, limit: 4 });
      expect(page.items.length).toBe(Math.min(4, 25 - seen.length));
      seen.push(...page.items.map((item) => item.cursor as number));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, i) => i));
    const tens = seen.map((n) => Math.floor(n / 10));
    expect(tens).toEqual(tens.toSorted((a, b) => b - a));
  });
});
