import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, createHttp } from '../../src/connector-kit/index.ts';
import {
  CursorExpiredError,
  defineConnector,
  type JobType,
  PermanentError,
  RateLimitedError,
  type SyncContext,
  TransientError,
  UnauthorizedError,
} from '../../src/index.ts';
import { connectInMemory, type MemoryRun } from '../../src/testing/index.ts';
import { testPorts } from '../support/clock.ts';
import { connector, signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, connect, job } = database;

const errors = {
  rate_limited: () => new RateLimitedError({ retryAfterSeconds: 60 }),
  unauthorized: () => new UnauthorizedError(),
  permanent: () => new PermanentError('no'),
  cursor_expired: () => new CursorExpiredError(),
  transient: () => new TransientError('not now'),
  unknown: () => new TypeError('a mistake'),
};

const result = fc.record({
  signals: fc.array(
    fc.record({
      kind: fc.constantFrom('item.created', 'item.changed'),
      occurredAt: fc.constantFrom('2025-01-01T10:00:00Z', '2025-01-01'),
      payload: fc.oneof(fc.integer(), fc.string(), fc.record({ n: fc.nat(9) })),
      dedupeKey: fc.option(fc.constantFrom('a', 'b', 'c', 'd'), { nil: undefined }),
    }),
    { maxLength: 4 },
  ),
  nextCursor: fc.oneof(
    fc.constantFrom(undefined, null, 0, '', 'next'),
    fc.record({ since: fc.nat(2), page: fc.option(fc.nat(2)) }),
    // Not a valid cursor, so the whole result is invalid.
    fc.constant('\0'),
  ),
  hasMore: fc.constantFrom(undefined, true, true, false),
  // -1 is invalid.
  retryAfterSeconds: fc.constantFrom(undefined, undefined, 0, 60, 1e308, -1),
});
const step = fc.oneof(
  { weight: 3, arbitrary: result },
  { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(errors) as (keyof typeof errors)[])) },
);
const maxTypes = 4;
const script = fc.record({
  cursor: fc.option(fc.nat(3), { nil: undefined }),
  /** Job types triggered in sequence, each after the previous one is finished. */
  types: fc.array(fc.constantFrom<JobType>('incremental', 'full', 'webhook'), {
    minLength: 1,
    maxLength: maxTypes,
  }),
  steps: fc.array(step, { maxLength: 12 }),
});
type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;

/** Plays the script step by step and records its calls. */
function createPlayer({ steps }: Script) {
  const calls: unknown[] = [];
  const remaining = [...steps];
  const play = ({ cursor, job: { type, attempts } }: SyncContext) => {
    calls.push({ cursor, type, attempts });
    const next = remaining.shift() ?? { signals: [] };
    if (typeof next === 'string') throw errors[next]();
    return next;
  };
  return { calls, play };
}

interface Outcome {
  calls: unknown[];
  signals: unknown[];
  cursor: unknown;
  status: string;
  jobs: unknown[];
}

async function inMemory(input: Script): Promise<Outcome> {
  const { calls, play } = createPlayer(input);
  const connection = connectInMemory(connector(play), { cursor: input.cursor });
  const jobs = new Map<string, unknown>();
  const runs: MemoryRun[] = [];
  for (const type of input.types)
    do {
      const ended = await connection.run({ type });
      runs.push(ended);
      const { job: own, outcome, stored, error } = ended;
      const attempts = own.attempts + (outcome === 'succeeded' ? 0 : 1);
      jobs.set(own.id, { type: own.type, status: outcome, attempts, stored, error: error?.kind ?? null });
    } while (connection.isWaiting);
  const signals = connection.signals.map(({ kind, occurredAt, payload, dedupeKey }) => ({
    kind,
    occurred_at: occurredAt,
    payload,
    dedupe_key: dedupeKey,
  }));
  const { cursor, status } = connection;
  return { calls, signals, cursor, status, jobs: [...jobs.values()] };
}

/** Runs all scripts in one engine, because starting one is slow; each has its own connection. */
async function inEngine(scripts: Script[]): Promise<Outcome[]> {
  await sql('TRUNCATE connections, sync_jobs, signals CASCADE');
  const players = new Map<string, ReturnType<typeof createPlayer>>();
  const playing = connector((context) => players.get(context.connection.id)?.play(context));
  const ports = testPorts();
  const engine = database.engine({ ports, connectors: [playing] });
  for (const script of scripts) {
    const { cursor } = script;
    const id = await connect({ metadata: { sync: cursor === undefined ? {} : { cursor } } });
    players.set(id, createPlayer(script));
  }
  const ids = [...players.keys()];
  for (let round = 0; round < maxTypes; round++) {
    const due = ids.filter((_, i) => scripts[i]?.types[round] !== undefined);
    // Resume connections in needs_auth.
    await sql(`UPDATE connections SET status = 'active' WHERE id = ANY ($1)`, [due]);
    for (const id of due) await job(id, { job_type: scripts[ids.indexOf(id)]?.types[round] });
    // The in-memory engine does not wait either.
    const makeDue = `UPDATE sync_jobs SET retry_after = 'epoch', scheduled_at = least(scheduled_at, $1)
      WHERE status = 'queued' RETURNING id`;
    do await engine.drain();
    while ((await sql(makeDue, [new Date(ports.now())])).length > 0);
  }
  await engine.stop();
  return Promise.all(ids.map(outcomeOf));

  async function outcomeOf(id: string): Promise<Outcome> {
    const [row] = await sql<{ cursor: unknown; status: string }>(
      `SELECT metadata #> '{sync,cursor}' AS cursor, status FROM connections WHERE id = $1`,
      [id],
    );
    const signals = await sql(
      `SELECT kind, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS occurred_at, payload, dedupe_key
       FROM signals WHERE connection_id = $1`,
      [id],
    );
    const jobs = await sql(
      `SELECT job_type AS type, status, attempts, signal_count AS stored, error ->> 'kind' AS error
       FROM sync_jobs WHERE connection_id = $1`,
      [id],
    );
    const calls = players.get(id)?.calls ?? [];
    return { calls, signals, cursor: row?.cursor ?? undefined, status: row?.status ?? '', jobs };
  }
}

const sorted = (outcome: Outcome) => ({
  ...outcome,
  signals: outcome.signals.map((stored) => JSON.stringify(Object.entries(stored as object))).sort(),
  jobs: outcome.jobs.map((ended) => JSON.stringify(ended)).sort(),
});

describe('connectInMemory matches the engine', () => {
  it('memory: a script yields the same signals, cursor, status and jobs as on Postgres', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 40, size: 'max' }), async (scripts) => {
        const expected = await inEngine(scripts);
        const found = await Promise.all(scripts.map(inMemory));
        expect(found.map(sorted)).toEqual(expected.map(sorted));
      }),
      // Limits shrinking.
      { numRuns: sized(4, 1), interruptAfterTimeLimit: 30_000 },
    );
  });
});

describe('connectInMemory', () => {
  it('memory: a sync reads all pages, and the next starts at the end', async () => {
    const pages = connector(({ cursor }) => {
      const at = (cursor as number | undefined) ?? 0;
      return { signals: [signal(at, `k${at}`)], nextCursor: Math.min(at + 1, 3), hasMore: at < 2 };
    });
    const connection = connectInMemory(pages);
    expect((await connection.sync()).map(({ outcome, stored }) => [outcome, stored])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect(connection.cursor).toBe(3);
    await connection.sync({ type: 'full' });
    expect(connection.signals.map(({ payload }) => payload)).toEqual([0, 1, 2]);
  });

  it('memory: a run returns the next job and its earliest time', async () => {
    const now = () => Date.parse('2025-01-01T12:00:00Z');
    const endOf = async (thrown: Error) => {
      const failing = connector(() => {
        throw thrown;
      });
      const { outcome, next } = await connectInMemory(failing, { cursor: 1, clock: { now } }).run();
      return { outcome, next };
    };
    expect(await endOf(new RateLimitedError({ retryAfterSeconds: 60 }))).toEqual({
      outcome: 'requeued',
      next: { type: 'incremental', notBefore: new Date('2025-01-01T12:01:00Z') },
    });
    expect(await endOf(new CursorExpiredError())).toEqual({
      outcome: 'failed',
      next: { type: 'full', notBefore: undefined },
    });
    expect(await endOf(new PermanentError('no'))).toEqual({ outcome: 'failed', next: undefined });
  });

  it('memory: retryAfterSeconds delays the next page', async () => {
    const now = () => Date.parse('2025-01-01T12:00:00Z');
    const page = { signals: [signal(1)], nextCursor: 1, hasMore: true };
    const nextAfter = async (retryAfterSeconds: number | undefined) =>
      (
        await connectInMemory(
          connector(() => ({ ...page, retryAfterSeconds })),
          { clock: { now } },
        ).run()
      ).next;
    expect(await nextAfter(60)).toEqual({
      type: 'incremental',
      notBefore: new Date('2025-01-01T12:01:00Z'),
    });
    expect(await nextAfter(Number.POSITIVE_INFINITY)).toMatchObject({
      notBefore: new Date('2025-01-08T12:00:00Z'),
    });
    for (const none of [undefined, 0])
      expect(await nextAfter(none)).toEqual({ type: 'incremental', notBefore: undefined });
  });

  it('memory: a cursor that expires during a walk queues a full sync after a backoff', async () => {
    const now = () => Date.parse('2025-01-01T12:00:00Z');
    const expiring = connector(({ cursor }) => {
      if (cursor !== undefined) throw new CursorExpiredError();
      return { signals: [signal(1)], nextCursor: 1, hasMore: true };
    });
    const runs = [];
    const connection = connectInMemory(expiring, { clock: { now } });
    for (let n = 0; n < 2; n++) runs.push(await connection.run());
    expect(runs.map(({ next }) => next)).toEqual([
      { type: 'incremental', notBefore: undefined },
      { type: 'full', notBefore: new Date('2025-01-01T12:00:05Z') },
    ]);
  });

  it('memory: an aborted or lost run stores nothing, counts no failure and is repeated', async () => {
    const seen: unknown[] = [];
    const recording = connector(({ job: { id, attempts } }) => {
      seen.push([id, attempts]);
      return { signals: [signal(1)], nextCursor: 1 };
    });
    const connection = connectInMemory(recording);
    await connection.run({ lost: true });
    await connection.run({ abortSignal: AbortSignal.abort(new Error('gone')) });
    expect(connection.signals).toEqual([]);
    expect(connection.isWaiting).toBe(true);
    await connection.run();
    expect(connection.signals).toHaveLength(1);
    expect(new Set(seen.map(String)).size).toBe(1);
  });

  it('memory: config is validated by its schema with a readable error', async () => {
    const typed = defineConnector({
      provider: 'typed',
      name: 'Typed',
      configSchema: z.object({ project: z.string() }),
      sync: async ({ connection }) => ({ signals: [signal(connection.config.project)] }),
    });
    const [failed] = await connectInMemory(typed, { config: {} }).sync();
    expect(failed?.error).toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('connection.config does not match'),
    });
    const connection = connectInMemory(typed, { config: { project: 'p' } });
    await connection.sync();
    expect(connection.signals).toMatchObject([{ payload: 'p' }]);
  });

  it('memory: a rejected credential is renewed if possible, otherwise the status is needs_auth', async () => {
    const fetch = (async (_url, init) =>
      new Headers(init?.headers).get('authorization') === 'Bearer second'
        ? Response.json({})
        : new Response('', { status: 401 })) as typeof globalThis.fetch;
    const authorized = connector(async (context) => {
      await createHttp(context, { baseUrl: 'http://provider.example', authorize: bearer() }).get('/');
      return { signals: [] };
    });
    const credential = { type: 'oauth2', accessToken: 'first' } as const;
    const refused = connectInMemory(authorized, { fetch, credential });
    expect((await refused.run()).error?.kind).toBe('unauthorized');
    expect(refused.status).toBe('needs_auth');
    const renew = () => ({ type: 'oauth2', accessToken: 'second' }) as const;
    const renewed = connectInMemory(authorized, { fetch, credential, renew });
    expect((await renewed.run()).outcome).toBe('succeeded');
  });
});
