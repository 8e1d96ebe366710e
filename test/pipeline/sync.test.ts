import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHttp, type StreamsCursor, syncStreams } from '../../src/connector-kit/index.ts';
import {
  type Connector,
  CursorExpiredError,
  defineConnector,
  PermanentError,
  RateLimitedError,
  type SyncContext,
  type SynclineOptions,
  TransientError,
  UnauthorizedError,
} from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { startLocalServer } from '../support/providers/local-server.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

interface JobColumns {
  id: string;
  status: string;
  job_type: string;
  attempts: number;
  priority: number;
  scheduled_at: Date;
  retry_after: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  cursor: unknown;
  error: { kind: string; name: string; message: string; at: string } | null;
}

const noon = new Date('2025-01-01T12:00:00Z');

/** Drains with one connector at noon. */
async function drain(only: Connector, options: SynclineOptions = {}) {
  const { log, lines } = recordingLogger('warn');
  const ports = testPorts();
  const engine = database.engine({ ports, connectors: [only], logger: log, ...options });
  return { totals: await engine.drain(), warnings: lines.map(({ msg }) => msg), engine, ports };
}

const jobs = () =>
  sql<JobColumns & Record<string, unknown>>('SELECT * FROM sync_jobs ORDER BY created_at, id');
const onlyJob = async () => (await jobs())[0] as JobColumns;
const cursorOf = async (id: string) =>
  (
    await sql<{ cursor: unknown }>(
      `SELECT metadata #> '{sync,cursor}' AS cursor FROM connections WHERE id = $1`,
      [id],
    )
  )[0]?.cursor;

describe('the connector contract', () => {
  it('EXE-5: a connector receives its connection, job and cursor', async () => {
    const id = await connect({ metadata: { own: 1, sync: { cursor: { since: 7 } } } });
    await sql(`UPDATE connections SET external_id = 'acct', config = '{"repo": "a/b"}'`);
    const jobId = await job(id, { attempts: 2 });
    let seen: unknown;
    await drain(
      connector(({ connection, cursor, job, abortSignal, log }) => {
        seen = { connection, cursor, job, aborted: abortSignal.aborted, canLog: typeof log.info };
        return { signals: [] };
      }),
    );
    expect(seen).toEqual({
      connection: {
        id,
        tenantId: tenant,
        provider: 'github',
        externalId: 'acct',
        config: { repo: 'a/b' },
        metadata: { own: 1, sync: { cursor: { since: 7 } } },
      },
      cursor: { since: 7 },
      job: { id: jobId, type: 'incremental', attempts: 2, scheduledAt: new Date('2025-01-01T00:00:00Z') },
      aborted: false,
      canLog: 'function',
    });
  });

  it('EXE-5: schemas type and parse cursor and config', async () => {
    const id = await connect({ metadata: { sync: { cursor: { since: '2025-01-01T00:00:00Z' } } } });
    await sql(`UPDATE connections SET config = '{"repo": "a/b"}' WHERE id = $1`, [id]);
    await job(id);
    const typed = defineConnector({
      provider: 'github',
      name: 'GitHub',
      cursorSchema: z.object({ since: z.iso.datetime() }),
      configSchema: z.object({ repo: z.string(), labels: z.array(z.string()).default([]) }),
      sync: async ({ connection, cursor }) => {
        const year: string | undefined = cursor?.since.slice(0, 4);
        return {
          signals: [signal({ year, repo: connection.config.repo, labels: connection.config.labels.length })],
          nextCursor: { since: '2026-01-01T00:00:00Z' },
        };
      },
    });
    await drain(typed);
    expect(await sql('SELECT payload FROM signals')).toEqual([
      { payload: { year: '2025', repo: 'a/b', labels: 0 } },
    ]);
    expect(await cursorOf(id)).toEqual({ since: '2026-01-01T00:00:00Z' });
  });

  it.each([
    ['config', { metadata: {} }, /connection\.config does not match .*repo: /],
    ['cursor', { metadata: { sync: { cursor: 'page 7' } } }, /The stored cursor does not match .* full sync/],
  ])(
    'EXE-8: a stored %s that does not match the schema fails the job with the reason',
    async (what, columns, message) => {
      await job(await connect(columns));
      const schemas =
        what === 'config'
          ? { configSchema: z.object({ repo: z.string() }) }
          : { cursorSchema: z.object({ page: z.number() }) };
      const neverCalled = () => Promise.reject(new Error('it was called'));
      await drain(defineConnector({ provider: 'github', name: 'GitHub', ...schemas, sync: neverCalled }));
      expect(await onlyJob()).toMatchObject({
        status: 'failed',
        error: { kind: 'permanent', message: expect.stringMatching(message) },
      });
    },
  );
});

describe('EXE-4: the cursor', () => {
  const cases: [string, string, unknown, unknown, unknown][] = [
    ['a first run has no cursor', 'incremental', undefined, undefined, undefined],
    ["uses the connection's cursor", 'incremental', undefined, { at: 1 }, { at: 1 }],
    ["the job's cursor precedes the connection's", 'incremental', { at: 2 }, { at: 1 }, { at: 2 }],
    ['a full job without a cursor starts from the beginning', 'full', undefined, { at: 1 }, undefined],
    ['a full job with a cursor continues from it', 'full', { at: 2 }, { at: 1 }, { at: 2 }],
    ["a webhook job uses the connection's cursor", 'webhook', undefined, 0, 0],
    ['null counts as no cursor', 'incremental', undefined, null, undefined],
  ];
  it.each(cases)('EXE-4: %s', async (_name, job_type, own, stored, expected) => {
    const id = await connect({ metadata: { sync: stored === undefined ? {} : { cursor: stored } } });
    await job(id, { job_type, cursor: own === undefined ? null : JSON.stringify(own) });
    let seen: unknown = 'nothing';
    await drain(
      connector(({ cursor }) => {
        seen = cursor;
        return { signals: [] };
      }),
    );
    expect(seen).toEqual(expected);
  });
});

describe('EXE-5: the commit', () => {
  it('EXE-5: stores signals, cursor and the end of the job', async () => {
    const id = await connect({ metadata: { own: 'kept', sync: { interval_seconds: 300 } } });
    const jobId = await job(id);
    const { totals } = await drain(
      connector(() => ({
        signals: [
          signal({ n: 1 }, 'one'),
          { ...signal({ n: 2 }), occurredAt: new Date('2024-05-05T05:05:05.123Z') },
        ],
        nextCursor: { since: 9 },
      })),
    );
    expect(totals).toEqual({ claimed: 1, succeeded: 1, requeued: 0, failed: 0, lost: 0, signals: 2 });
    expect(await onlyJob()).toMatchObject({
      id: jobId,
      status: 'succeeded',
      started_at: noon,
      finished_at: noon,
      attempts: 0,
      error: null,
      process_id: null,
    });
    expect(
      await sql(
        'SELECT tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, received_at, payload, dedupe_key FROM signals ORDER BY payload',
      ),
    ).toEqual(
      [
        { occurred_at: new Date('2025-01-01T10:00:00Z'), payload: { n: 1 }, dedupe_key: 'one' },
        { occurred_at: new Date('2024-05-05T05:05:05.123Z'), payload: { n: 2 }, dedupe_key: null },
      ].map((row) => ({
        tenant_id: tenant,
        provider_slug: 'github',
        connection_id: id,
        job_id: jobId,
        kind: 'item.created',
        received_at: noon,
        ...row,
      })),
    );
    const [connection] = await sql(
      'SELECT metadata, last_incremental_ended_at, waits_for_job FROM connections',
    );
    expect(connection).toEqual({
      metadata: { own: 'kept', sync: { interval_seconds: 300, cursor: { since: 9 } } },
      last_incremental_ended_at: noon,
      waits_for_job: false,
    });
  });

  it.each([undefined, null])('EXE-5: a nextCursor of %s keeps the stored cursor', async (nextCursor) => {
    const id = await connect({ metadata: { sync: { cursor: 'stored' } } });
    await job(id);
    await drain(connector(() => ({ signals: [], nextCursor })));
    expect(await cursorOf(id)).toBe('stored');
  });

  it('EXE-5: signals with a known dedupe key are absorbed, within a page and across runs', async () => {
    const [first, second] = [await connect(), await connect()];
    await job(first);
    await job(second);
    const same = connector(() => ({ signals: [signal(1, 'a'), signal(2, 'a'), signal(3, 'b'), signal(4)] }));
    expect((await drain(same)).totals.signals).toBe(6);
    await job(first);
    expect((await drain(same)).totals.signals).toBe(1);
    expect(await sql('SELECT FROM signals WHERE connection_id = $1', [first])).toHaveLength(4);
  });

  it('EXE-5: a run that lost its claim writes nothing', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    const jobId = await job(id);
    const { totals, warnings } = await drain(
      connector(async () => {
        await sql(
          `UPDATE sync_jobs SET claim_id = gen_random_uuid(), process_id = gen_random_uuid() WHERE id = $1`,
          [jobId],
        );
        return { signals: [signal(1)], nextCursor: 'new', hasMore: true };
      }),
    );
    expect(totals).toMatchObject({ succeeded: 0, lost: 1, signals: 0 });
    expect(warnings).toEqual([expect.stringContaining('the run no longer held its job')]);
    expect(await sql('SELECT FROM signals')).toHaveLength(0);
    expect(await cursorOf(id)).toBe('old');
    expect((await jobs()).map(({ status }) => status)).toEqual(['running']);
  });

  it('EXE-5: a run whose connection was deleted writes nothing and affects no other run', async () => {
    const [deleted, other] = [await connect(), await connect()];
    await job(deleted);
    await job(other);
    const { totals } = await drain(
      connector(async ({ connection }) => {
        if (connection.id === deleted) await sql('DELETE FROM connections WHERE id = $1', [deleted]);
        return { signals: [signal(1)] };
      }),
    );
    expect(totals).toMatchObject({ succeeded: 1, lost: 1, signals: 1 });
  });
});

describe('EXE-6: follow-up jobs', () => {
  const pages = (last: number) =>
    connector(({ cursor }) => {
      const page = ((cursor as number | undefined) ?? 0) + 1;
      return { signals: [signal({ page })], nextCursor: page, hasMore: page < last };
    });

  it('EXE-6: each next page is an incremental job, due now, with the same priority', async () => {
    const id = await connect();
    await job(id, { job_type: 'full', priority: 4 });
    const { totals } = await drain(pages(3));
    expect(totals).toMatchObject({ claimed: 3, succeeded: 3, signals: 3 });
    expect(await sql('SELECT payload FROM signals ORDER BY payload')).toEqual([
      { payload: { page: 1 } },
      { payload: { page: 2 } },
      { payload: { page: 3 } },
    ]);
    const followUps = await sql(
      `SELECT job_type, priority, cursor, scheduled_at FROM sync_jobs WHERE cursor IS NOT NULL ORDER BY cursor`,
    );
    expect(followUps).toEqual(
      [1, 2].map((cursor) => ({ job_type: 'incremental', priority: 4, cursor, scheduled_at: noon })),
    );
    expect(await cursorOf(id)).toBe(3);
  });

  it('EXE-6: a queued incremental job takes over the cursor and becomes due', async () => {
    const id = await connect();
    await job(id, { job_type: 'full' });
    const waiting = await job(id, {
      scheduled_at: '2025-01-01T18:00:00Z',
      retry_after: '2025-01-01T19:00:00Z',
    });
    const { totals } = await drain(pages(2));
    expect(totals).toMatchObject({ claimed: 2, succeeded: 2 });
    const incremental = (await jobs()).filter(({ job_type }) => job_type === 'incremental');
    expect(incremental).toEqual([
      expect.objectContaining({ id: waiting, cursor: 1, scheduled_at: noon, status: 'succeeded' }),
    ]);
  });

  it.each([
    ['without a cursor', { signals: [signal(1)], hasMore: true }, /hasMore without nextCursor/],
    [
      'with the same cursor and no signals',
      { signals: [], hasMore: true, nextCursor: { b: [1], a: 2 } },
      /same cursor/,
    ],
  ])('EXE-6: hasMore %s logs a warning and ends the walk', async (_name, result, warning) => {
    const id = await connect({ metadata: { sync: { cursor: { a: 2, b: [1] } } } });
    await job(id);
    const { totals, warnings } = await drain(connector(() => result));
    expect(totals).toMatchObject({ claimed: 1, succeeded: 1, signals: result.signals.length });
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('EXE-6: a cursor object mutated in place counts as changed, also on an empty page', async () => {
    await job(await connect({ metadata: { sync: { cursor: { page: 1 } } } }));
    const { totals, warnings } = await drain(
      connector(({ cursor }) => {
        const own = cursor as { page: number };
        own.page++;
        return { signals: [], nextCursor: own, hasMore: own.page < 4 };
      }),
    );
    expect(totals).toMatchObject({ claimed: 3, succeeded: 3 });
    expect(warnings).toEqual([]);
  });

  it('EXE-8: a secret stays hidden after the connector removed it from config, metadata and cursor', async () => {
    const id = await connect({ metadata: { owner: { team: 'a' }, sync: { cursor: { page: 1 } } } });
    await sql(`UPDATE connections SET config = '{"auth": {"token": "s3cret-value"}}' WHERE id = $1`, [id]);
    await job(id);
    const seen: unknown[] = [];
    await drain(
      connector(({ connection, cursor }) => {
        const config = connection.config as { auth?: { token: string } };
        const own = cursor as { page?: number };
        seen.push(structuredClone({ config, cursor, metadata: connection.metadata }));
        const token = config.auth?.token;
        delete config.auth;
        delete own.page;
        for (const key of Object.keys(connection.metadata)) delete connection.metadata[key];
        throw new PermanentError(`refused ${token}`);
      }),
    );
    expect(seen).toEqual([
      {
        config: { auth: { token: 's3cret-value' } },
        cursor: { page: 1 },
        metadata: { owner: { team: 'a' }, sync: { cursor: { page: 1 } } },
      },
    ]);
    expect(await onlyJob()).toMatchObject({ error: { message: 'refused [hidden]' } });
    expect(await sql('SELECT metadata, config FROM connections')).toEqual([
      {
        metadata: { owner: { team: 'a' }, sync: { cursor: { page: 1 } } },
        config: { auth: { token: 's3cret-value' } },
      },
    ]);
  });

  it('EXE-4: cursor and metadata are separate values of a run, and a JSON null cursor is none', async () => {
    const id = await connect({ metadata: { sync: { cursor: { page: 1 } } } });
    await job(id);
    await sql(`UPDATE sync_jobs SET cursor = 'null'`);
    const seen: unknown[] = [];
    await drain(
      connector(({ connection, cursor }) => {
        (cursor as { page: number }).page = 2;
        seen.push(connection.metadata);
        return { signals: [], nextCursor: cursor };
      }),
    );
    expect(seen).toEqual([{ sync: { cursor: { page: 1 } } }]);
    expect(await cursorOf(id)).toEqual({ page: 2 });
  });

  it('EXE-4: a __proto__ key in a stored cursor is a key of the value', async () => {
    const id = await connect();
    await sql(
      `UPDATE connections SET metadata = '{"sync": {"cursor": {"__proto__": {"x": 1}}}}' WHERE id = $1`,
      [id],
    );
    await job(id);
    const seen: unknown[] = [];
    await drain(
      connector(({ cursor }) => {
        seen.push(Object.entries(cursor as object), (cursor as { x?: number }).x);
        return { signals: [], nextCursor: cursor };
      }),
    );
    expect(seen).toEqual([[['__proto__', { x: 1 }]], undefined]);
    expect(await sql(`SELECT metadata #>> '{sync,cursor}' AS cursor FROM connections`)).toEqual([
      { cursor: '{"__proto__": {"x": 1}}' },
    ]);
  });

  it('EXE-5: a cursor may contain text that looks like an escape sequence', async () => {
    const id = await connect();
    await job(id);
    await drain(connector(() => ({ signals: [], nextCursor: String.raw`C:\udata\u0000` })));
    expect(await cursorOf(id)).toBe(String.raw`C:\udata\u0000`);
  });

  it('EXE-6: an unchanged cursor with signals continues the walk', async () => {
    await job(await connect({ metadata: { sync: { cursor: 'same' } } }));
    let left = 3;
    const { totals } = await drain(
      connector(() => ({ signals: [signal(left)], nextCursor: 'same', hasMore: --left > 0 })),
    );
    expect(totals).toMatchObject({ claimed: 3, succeeded: 3, signals: 3 });
  });
});

describe('EXE-7: retryAfterSeconds of a page delays the next page', () => {
  const limited = (retryAfterSeconds?: number | string | null) => {
    const starts: unknown[] = [];
    const paged = connector(({ cursor }) => {
      starts.push(cursor);
      const page = ((cursor as number | undefined) ?? 0) + 1;
      return { signals: [signal(page)], nextCursor: page, hasMore: page < 2, retryAfterSeconds };
    });
    return { paged, starts };
  };
  const exact = { rateLimit: { jitterFactor: 0 } };
  const later = (seconds: number) => new Date(noon.getTime() + seconds * 1000);
  const waiting = async () => (await jobs()).find(({ status }) => status === 'queued');

  it('EXE-7: stores the page, counts no failure, and continues after retryAfterSeconds', async () => {
    const id = await connect();
    await job(id, { priority: 4 });
    const { paged, starts } = limited(60);
    const { totals, engine, ports } = await drain(paged, exact);
    expect(totals).toMatchObject({ claimed: 1, succeeded: 1, requeued: 0, signals: 1 });
    expect(await waiting()).toMatchObject({
      job_type: 'incremental',
      priority: 4,
      cursor: 1,
      attempts: 0,
      error: null,
      retry_after: later(60),
      // Also delayed, so that the start lag does not include the pause.
      scheduled_at: later(60),
    });
    expect(await engine.connections.get(id)).toMatchObject({ status: 'active', failure: undefined });
    expect((await engine.connections.explain(id)).sentence).toMatch(
      /^Waiting before continuing\. Next attempt in 60 s/,
    );
    ports.advance(59_000);
    expect(await engine.drain()).toMatchObject({ claimed: 0 });
    ports.advance(1000);
    expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1, signals: 1 });
    expect(starts).toEqual([undefined, 1]);
  });

  it.each([
    ['seconds', '60', later(60)],
    ['an HTTP date', 'Wed, 01 Jan 2025 12:01:00 GMT', later(60)],
    ['a date that has passed', 'Wed, 01 Jan 2025 11:00:00 GMT', null],
    ['null', null, null],
    ['empty text', '', null],
  ])('EXE-7: retryAfterSeconds of a page may be the value of a header: %s', async (_, text, until) => {
    await job(await connect());
    await drain(limited(text).paged, exact);
    const next = await waiting();
    expect(next?.retry_after ?? null).toEqual(until);
  });

  it('EXE-7: an unreadable retryAfterSeconds of a page is ignored with a warning', async () => {
    await job(await connect());
    const { totals, warnings } = await drain(limited('soon').paged);
    expect(totals).toMatchObject({ claimed: 2, succeeded: 2, requeued: 0, signals: 2 });
    expect(warnings.filter((warning) => /got "soon"; it is ignored/.test(warning))).toHaveLength(2);
  });

  it('EXE-7: the pause is at most a week, plus jitter', async () => {
    await job(await connect());
    await drain(limited(Number.POSITIVE_INFINITY).paged);
    const pause = (((await waiting()) as JobColumns).retry_after as Date).getTime() - noon.getTime();
    const week = 7 * 24 * 3600 * 1000;
    expect(pause).toBeGreaterThanOrEqual(week);
    expect(pause).toBeLessThanOrEqual(week * 1.1);
  });

  it.each([
    [600, 60, 600],
    [60, 600, 600],
    [null, 600, 600],
  ])(
    'EXE-7: a job with a pause of %s s and retryAfterSeconds %s waits %s s',
    async (before, retryAfter, seconds) => {
      const id = await connect();
      await job(id, { job_type: 'full' });
      const held = await job(id, { scheduled_at: later(3600), retry_after: before && later(before) });
      await drain(limited(retryAfter).paged, exact);
      expect(await waiting()).toMatchObject({ id: held, cursor: 1, retry_after: later(seconds) });
    },
  );

  it('EXE-7: a trigger ends the pause', async () => {
    const id = await connect();
    await job(id);
    const { paged } = limited(600);
    const { engine } = await drain(paged, exact);
    expect(await engine.connections.trigger(id)).toMatchObject({ effect: 'brought_forward' });
    expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1 });
  });

  it('EXE-7: without hasMore no job waits, and 0 is no pause', async () => {
    await job(await connect({ metadata: { sync: { cursor: 5 } } }));
    const { paged, starts } = limited(600);
    await drain(paged);
    expect(await waiting()).toBeUndefined();
    await job(await connect());
    expect((await drain(limited(0).paged)).totals).toMatchObject({ claimed: 2, succeeded: 2 });
    expect(starts).toEqual([5]);
  });

  it('EXE-7: a stream that gets a 429 after its first page waits for Retry-After', async () => {
    const requested: string[] = [];
    let isLimited = true;
    const url = await startLocalServer(({ path }) => {
      requested.push(path);
      if (path === '/b' && isLimited) return { status: 429, headers: { 'retry-after': '60' } };
      return { body: { path } };
    });
    await job(await connect());
    const { totals, engine, ports } = await drain(
      connector((context) => {
        const http = createHttp(context, { baseUrl: url });
        const streams = context as SyncContext<StreamsCursor<number>>;
        return syncStreams(streams, ['a', 'b'], async (name) => {
          await http.get(name);
          return { signals: [signal(name)], nextCursor: 1 };
        });
      }),
      exact,
    );
    expect(totals).toMatchObject({ claimed: 1, succeeded: 1, signals: 1 });
    expect(requested).toEqual(['/a', '/b']);
    isLimited = false;
    ports.advance(59_000);
    expect(await engine.drain()).toMatchObject({ claimed: 0 });
    ports.advance(1000);
    expect(await engine.drain()).toMatchObject({ succeeded: 1, signals: 1 });
    expect(requested).toEqual(['/a', '/b', '/b']);
  });
});

describe('EXE-7, EXE-8: failures', () => {
  const failing = (error: unknown) =>
    connector(() => {
      throw error;
    });

  it.each([
    ['a failure', new Error('boom'), 'transient', 5],
    ['a transient error', new TransientError('later'), 'transient', 5],
    ['a rate limit without a hint', new RateLimitedError(), 'rate_limited', 5],
    ['a rate limit with a hint', new RateLimitedError({ retryAfterSeconds: 120 }), 'rate_limited', 120],
    [
      'a rate limit with a hint as text',
      new RateLimitedError({ retryAfterSeconds: '120' }),
      'rate_limited',
      120,
    ],
    [
      'a rate limit with an HTTP date',
      new RateLimitedError({ retryAfterSeconds: 'Wed, 01 Jan 2025 12:02:00 GMT' }),
      'rate_limited',
      120,
    ],
    [
      'a rate limit with an unreadable hint',
      new RateLimitedError({ retryAfterSeconds: 'soon' }),
      'rate_limited',
      5,
    ],
  ])(
    'EXE-7: %s requeues the job with backoff and counts one attempt',
    async (_name, error, kind, seconds) => {
      await job(await connect(), { attempts: 0, started_at: null });
      const { totals } = await drain(failing(error));
      expect(totals).toMatchObject({ claimed: 1, requeued: 1, failed: 0 });
      const row = await onlyJob();
      expect(row).toMatchObject({
        status: 'queued',
        attempts: 1,
        started_at: noon,
        finished_at: null,
        error: { kind, name: error.name, message: error.message, at: '2025-01-01T12:00:00.000Z' },
      });
      const pause = ((row.retry_after as Date).getTime() - noon.getTime()) / 1000;
      expect(pause).toBeGreaterThanOrEqual(seconds);
      expect(pause).toBeLessThanOrEqual(seconds * 1.1);
    },
  );

  it('EXE-7: an unreadable retryAfterSeconds logs a warning', async () => {
    await job(await connect());
    const { warnings } = await drain(failing(new RateLimitedError({ retryAfterSeconds: 'soon' })));
    expect(warnings.filter((warning) => /got "soon"; it is ignored/.test(warning))).toHaveLength(1);
  });

  it('EXE-7: the backoff doubles with each earlier failure, plus at most 10 % jitter', async () => {
    await job(await connect(), { attempts: 3 });
    await drain(failing(new Error('boom')));
    const row = await onlyJob();
    const pause = ((row.retry_after as Date).getTime() - noon.getTime()) / 1000;
    expect(row.attempts).toBe(4);
    expect(pause).toBeGreaterThanOrEqual(40);
    expect(pause).toBeLessThanOrEqual(44);
  });

  it('EXE-7: attempts stays at its maximum of 2^31 - 1', async () => {
    await job(await connect(), { attempts: 2 ** 31 - 1 });
    await drain(failing(new Error('boom')));
    expect(await onlyJob()).toMatchObject({ status: 'queued', attempts: 2 ** 31 - 1 });
  });

  it("EXE-7: a provider's rateLimit settings override the defaults", async () => {
    await job(await connect());
    await drain(failing(new Error('boom')), {
      rateLimit: { jitterFactor: 0, providers: { github: { baseSeconds: 60 } } },
    });
    expect((await onlyJob()).retry_after).toEqual(new Date(noon.getTime() + 60_000));
  });

  it('EXE-7: the job runs again after the backoff, and success clears the error', async () => {
    const id = await connect();
    await job(id);
    let tries = 0;
    const flaky = connector(({ job }) => {
      if (++tries === 1) throw new Error('boom');
      return { signals: [signal(job.attempts)] };
    });
    const { engine, ports } = await drain(flaky);
    ports.advance(6000);
    expect(await engine.drain()).toMatchObject({ succeeded: 1, signals: 1 });
    expect(await onlyJob()).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      error: null,
      retry_after: null,
    });
    expect(await sql('SELECT payload FROM signals')).toEqual([{ payload: 1 }]);
  });

  it('EXE-8: unauthorized fails the job and sets the connection to needs_auth, with the reason', async () => {
    const id = await connect();
    await job(id);
    await job(id, { job_type: 'full', priority: -1 });
    const { totals, engine } = await drain(failing(new UnauthorizedError('token revoked')));
    expect(totals).toMatchObject({ claimed: 1, failed: 1 });
    expect((await engine.connections.get(id)).status).toBe('needs_auth');
    expect((await jobs()).map(({ status }) => status).toSorted()).toEqual(['failed', 'queued']);
    expect(await engine.connections.events(id)).toEqual([
      expect.objectContaining({ kind: 'connection.needs_auth', actor: 'syncline', reason: 'token revoked' }),
    ]);
    expect((await engine.connections.explain(id)).sentence).toMatch(
      /rejected the credentials.*token revoked/,
    );
  });

  it('EXE-8: a permanent error fails the job, and the next run keeps its interval', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 600 } } });
    await job(id);
    const { engine } = await drain(failing(new PermanentError('no such repository')));
    expect(await onlyJob()).toMatchObject({ status: 'failed', attempts: 1, finished_at: noon });
    await engine.tick();
    const next = (await jobs()).find(({ status }) => status === 'queued');
    expect((next as JobColumns).scheduled_at.getTime()).toBeGreaterThanOrEqual(noon.getTime() + 600_000);
  });

  it('EXE-8: an expired cursor fails the job and queues a full sync', async () => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    await job(id);
    const cursors: unknown[] = [];
    const { totals } = await drain(
      connector(({ cursor, job }) => {
        cursors.push([job.type, cursor]);
        if (cursor === 'old') throw new CursorExpiredError();
        return { signals: [signal(1)], nextCursor: 'new' };
      }),
    );
    expect(totals).toMatchObject({ claimed: 2, failed: 1, succeeded: 1 });
    expect(cursors).toEqual([
      ['incremental', 'old'],
      ['full', undefined],
    ]);
    expect(await cursorOf(id)).toBe('new');
  });

  it('EXE-8: CursorExpiredError without a cursor is retried with backoff', async () => {
    await job(await connect(), { job_type: 'full' });
    const { totals } = await drain(failing(new CursorExpiredError()));
    expect(totals).toMatchObject({ claimed: 1, requeued: 1, failed: 0 });
  });

  it('EXE-8: a walk whose cursor always expires restarts with a pause', async () => {
    await job(await connect());
    const { totals } = await drain(
      connector(({ cursor }) => {
        if (cursor !== undefined) throw new CursorExpiredError();
        return { signals: [], nextCursor: 'perishable', hasMore: true };
      }),
    );
    expect(totals).toMatchObject({ claimed: 2, succeeded: 1, failed: 1 });
    const [full] = (await jobs()).filter(({ job_type }) => job_type === 'full');
    expect(full?.retry_after?.getTime()).toBeGreaterThan(noon.getTime());
  });

  it.each([
    ['keeps its pause', {}, '2025-01-01T13:00:00Z', '2025-01-01T13:00:00Z'],
    [
      'gets the longer pause of a walk',
      { cursor: '"page 2"' },
      '2025-01-01T12:00:01Z',
      '2025-01-01T12:00:05Z',
    ],
  ])('EXE-7: when a cursor expires again, a queued full sync %s', async (_, columns, waitsUntil, until) => {
    const id = await connect({ metadata: { sync: { cursor: 'old' } } });
    await job(id, columns);
    await job(id, { job_type: 'full', attempts: 1, retry_after: waitsUntil });
    const { totals } = await drain(failing(new CursorExpiredError()), { rateLimit: { jitterFactor: 0 } });
    expect(totals).toMatchObject({ claimed: 1, failed: 1 });
    const [full] = (await jobs()).filter(({ job_type }) => job_type === 'full');
    expect(full).toMatchObject({ status: 'queued', attempts: 1, retry_after: new Date(until) });
  });

  it('EXE-7: a manual retry ends the pause of a queued full sync', async () => {
    const id = await connect();
    const failed = await job(id, { job_type: 'full', status: 'failed', finished_at: noon.toISOString() });
    const waiting = await job(id, { job_type: 'full', attempts: 1, retry_after: '2025-01-01T13:00:00Z' });
    const { totals, engine } = await drain(connector(() => ({ signals: [] })));
    expect(totals).toMatchObject({ claimed: 0 });
    await engine.jobs.retry(failed);
    expect(await engine.drain()).toMatchObject({ claimed: 1, succeeded: 1 });
    expect((await engine.jobs.get(waiting)).status).toBe('succeeded');
  });

  it('EXE-8: recognizes errors of another copy of the package', async () => {
    await job(await connect());
    const foreign = Object.assign(new Error('slow down'), {
      [Symbol.for('syncline.connector-error')]: 'rate_limited',
      retryAfterSeconds: 77,
    });
    await drain(failing(foreign), { rateLimit: { jitterFactor: 0 } });
    expect((await onlyJob()).retry_after).toEqual(new Date(noon.getTime() + 77_000));
  });
});
