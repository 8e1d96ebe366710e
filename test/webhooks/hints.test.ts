import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import { type Connector, RateLimitedError, systemPorts, TransientError } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { startBlockingEngine } from '../support/blocking-engine.ts';
import { signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import { countOf, forEachConcurrently } from '../support/worker.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './webhook-connector.ts';

const database = useDatabase();
const { sql, connect, job } = database;
const body = '{}';
const pending = `sync_jobs WHERE status IN ('queued', 'running')`;

beforeEach(() => database.empty());

const hints = sized(1000, 100);

/** A service without an executor that records its statements. */
async function startRecordingService(connectors: Connector[] = [hooked({ verify: githubSignature() })]) {
  const statements: string[] = [];
  const ports = { ...systemPorts };
  ports.query = (statement, send) => {
    statements.push(statement);
    return send();
  };
  const service = await startService(database, { engine: { ports, connectors, credentials } });
  const transactions = () => statements.filter((statement) => statement.startsWith('BEGIN')).length;
  return { service, ports, statements, transactions };
}

type RecordingService = Awaited<ReturnType<typeof startRecordingService>>;

async function connection({ service }: RecordingService) {
  const id = await connect();
  const { secret } = await service.syncline.webhooks.create(id);
  const headers = asGithub(secret, body);
  return { id, send: () => deliver(service, pathOf(id), body, headers) };
}

/** Sends `count` deliveries and expects 202 for each. */
const burst = (count: number, send: () => Promise<{ status: number }>) =>
  forEachConcurrently(50, [...Array(count).keys()], async () => {
    expect((await send()).status).toBe(202);
  });

describe('hints: many hints become one run, and none is lost', () => {
  it(`hints: ${hints} hints during a run cause one more run, after the last of them`, async () => {
    const receiver = await startRecordingService();
    const { id, send } = await connection(receiver);
    await job(id);
    const { engine, startedRuns, untilStarted, release } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    const before = receiver.transactions();
    await burst(hints, send);
    expect(startedRuns).toHaveLength(1);
    // A delivery that finds a pending hint writes nothing.
    expect(receiver.transactions() - before).toBeLessThanOrEqual(2);
    release();
    await untilStarted(2);
    release();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 2 });
    expect(await countOf(sql, pending)).toBe(0);
    expect(await countOf(sql, 'events WHERE connection_id IS NOT NULL')).toBe(1);
  });

  it(`hints: ${hints} hints through two processes cause one job and at most four transactions`, async () => {
    const [receiver, secondReceiver] = [
      await startRecordingService(),
      await startRecordingService(),
    ] as const;
    const id = await connect();
    const { secret } = await receiver.service.syncline.webhooks.create(id);
    const sendTo =
      ({ service }: RecordingService) =>
      () =>
        deliver(service, pathOf(id), body, asGithub(secret, body));
    const before = receiver.transactions() + secondReceiver.transactions();
    await Promise.all([burst(hints / 2, sendTo(receiver)), burst(hints / 2, sendTo(secondReceiver))]);
    expect(receiver.transactions() + secondReceiver.transactions() - before).toBeLessThanOrEqual(4);
    expect(await sql('SELECT status, priority FROM sync_jobs')).toEqual([{ status: 'queued', priority: 0 }]);
  });

  it('hints: every change with a hint is synced without a schedule, also during a walk', async () => {
    // The provider returns the newest first, so a walk misses changes added after it started.
    const changes = new Map<string, number>();
    const calls = new Map<string, number>();
    const pageSize = 2;
    const sync: Parameters<typeof hooked>[1] = {
      sync: ({ connection: { id }, cursor }) => {
        const { seen = 0, walk } = (cursor ?? {}) as { seen?: number; walk?: { top: number; next: number } };
        const top = walk?.top ?? changes.get(id) ?? 0;
        const next = walk?.next ?? top;
        const last = Math.max(seen, next - pageSize);
        const signals = Array.from({ length: next - last }, (_, i) => signal(next - i, `change ${next - i}`));
        calls.set(id, (calls.get(id) ?? 0) + 1);
        if (calls.get(id) === 20) throw new TransientError('unavailable');
        return last > seen
          ? { signals, nextCursor: { seen, walk: { top, next: last } }, hasMore: true }
          : { signals, nextCursor: { seen: top } };
      },
    };
    const receiver = await startRecordingService();
    const worker = database.engine({
      connectors: [hooked({ verify: githubSignature() }, sync)],
      rateLimit: { baseSeconds: 1 },
    });
    await worker.start({ roles: ['executor'] });
    const connections = await Promise.all([1, 2, 3, 4].map(() => connection(receiver)));
    const hintsPerConnection = sized(60, 25);
    await forEachConcurrently(4, connections, async ({ id, send }) => {
      for (let i = 1; i <= hintsPerConnection; i++) {
        // Up to seven changes per hint, so that walks have several pages.
        changes.set(id, (changes.get(id) ?? 0) + 1 + (i % 7));
        expect((await send()).status).toBe(202);
      }
    });
    const expected = [...changes.values()].reduce((sum, count) => sum + count, 0);
    await until('everything is stored', async () => (await countOf(sql, 'signals')) === expected);
    await until('nothing is pending', async () => (await countOf(sql, pending)) === 0);
    const runs = await countOf(sql, `sync_jobs WHERE cursor IS NULL`);
    expect(runs).toBeLessThanOrEqual(hintsPerConnection * connections.length);
  });

  it('hints: a hint during a walk causes a run after the walk, also after a failure', async () => {
    const receiver = await startRecordingService();
    const { id, send } = await connection(receiver);
    const calls: unknown[] = [];
    let hasFailed = false;
    const worker = database.engine({
      rateLimit: { baseSeconds: 1 },
      connectors: [
        hooked(
          { verify: githubSignature() },
          {
            sync: async ({ cursor }) => {
              const page = (cursor as { page?: number } | undefined)?.page ?? 0;
              calls.push(page);
              if (page === 1 && !hasFailed) {
                hasFailed = true;
                await send();
                throw new TransientError('once');
              }
              return page < 2
                ? { signals: [], nextCursor: { page: page + 1 }, hasMore: true }
                : { signals: [], nextCursor: { page: 0 } };
            },
          },
        ),
      ],
    });
    await job(id);
    await worker.start({ roles: ['executor'] });
    await until(
      'the additional run has ended',
      async () => calls.length >= 7 && (await countOf(sql, pending)) === 0,
    );
    expect(calls).toEqual([0, 1, 1, 2, 0, 1, 2]);
  });

  it('hints: a hint queued beside a full sync survives the walk that takes over its job', async () => {
    const receiver = await startRecordingService();
    const { id, send } = await connection(receiver);
    const calls: string[] = [];
    const worker = database.engine({
      connectors: [
        hooked(
          { verify: githubSignature() },
          {
            sync: async ({ job: { type }, cursor }) => {
              const page = (cursor as { page?: number } | undefined)?.page ?? 0;
              calls.push(`${type} ${page}`);
              if (type === 'full') await send();
              return page === 0 && calls.length === 1
                ? { signals: [], nextCursor: { page: 1 }, hasMore: true }
                : { signals: [], nextCursor: { page: 0 } };
            },
          },
        ),
      ],
    });
    await job(id, { job_type: 'full' });
    await worker.drain();
    expect(calls).toEqual(['full 0', 'incremental 1', 'incremental 0']);
  });

  it('hints: a hint that arrives during a lookup causes another lookup', async () => {
    const receiver = await startRecordingService();
    const { id, send } = await connection(receiver);
    const worker = database.engine({ connectors: [hooked({ verify: githubSignature() })] });
    await send();
    // The response, not yet received, says that a job waits; meanwhile that job runs.
    let answered = () => {};
    let resume = () => {};
    const hasAnswer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let isFirst = true;
    let lookups = 0;
    receiver.ports.query = async (statement, send) => {
      const answer = await send();
      if (/LEFT JOIN/.test(statement)) lookups++;
      if (!isFirst || !/AND hinted/.test(statement)) return answer;
      isFirst = false;
      answered();
      await resumed;
      return answer;
    };
    const first = send();
    await hasAnswer;
    expect(await worker.drain()).toMatchObject({ succeeded: 1 });
    const second = send();
    await until('its webhook is looked up', () => lookups === 2);
    resume();
    expect([(await first).status, (await second).status]).toEqual([202, 202]);
    expect(await sql(`SELECT status FROM sync_jobs WHERE connection_id = $1 ORDER BY id`, [id])).toEqual([
      { status: 'succeeded' },
      { status: 'queued' },
    ]);
  });

  it('hints: a scheduled job becomes due now; a job that backs off keeps its retry_after', async () => {
    const receiver = await startRecordingService();
    const [scheduled, backingOff] = [await connection(receiver), await connection(receiver)] as const;
    const [waiting, retried] = [
      await job(scheduled.id, { scheduled_at: '2099-01-01' }),
      await job(backingOff.id, { retry_after: '2099-01-01', attempts: 3 }),
    ] as const;
    await Promise.all([scheduled.send(), backingOff.send(), backingOff.send()]);
    const jobs = await sql(
      'SELECT id, scheduled_at <= now() AS due, retry_after::date::text AS until FROM sync_jobs ORDER BY attempts',
    );
    expect(jobs).toEqual([
      { id: waiting, due: true, until: null },
      { id: retried, due: true, until: '2099-01-01' },
    ]);
    const before = receiver.transactions();
    await burst(50, backingOff.send);
    expect(receiver.transactions()).toBe(before);
  });

  it('hints: hints of a rate-limited provider do not shorten its pause', async () => {
    const receiver = await startRecordingService();
    const { id, send } = await connection(receiver);
    await job(id);
    let runs = 0;
    const worker = database.engine({
      connectors: [
        hooked(
          { verify: githubSignature() },
          {
            sync: async () => {
              runs++;
              await send();
              throw new RateLimitedError({ retryAfterSeconds: 3600 });
            },
          },
        ),
      ],
    });
    await worker.drain();
    await burst(20, send);
    await worker.drain();
    expect(runs).toBe(1);
    expect(await countOf(sql, pending)).toBe(1);
  });

  it('hints: a hint wakes a sleeping executor', async () => {
    const receiver = await startRecordingService();
    const { send } = await connection(receiver);
    let runs = 0;
    const worker = database.engine({
      // The next poll is a minute away.
      executor: { pollIntervalMs: 60_000 },
      connectors: [
        hooked(
          { verify: githubSignature() },
          {
            sync: () => {
              runs++;
              return { signals: [] };
            },
          },
        ),
      ],
    });
    await worker.start({ roles: ['executor'] });
    for (const expected of [1, 2, 3]) {
      await send();
      await until(`run ${expected}`, () => runs === expected);
      await until('it is stored', async () => (await countOf(sql, pending)) === 0);
    }
  });

  it('hints: hints for 40 connections use one database connection at a time', async () => {
    const receiver = await startRecordingService();
    const connections = await Promise.all(Array.from({ length: 40 }, () => connection(receiver)));
    let open = 0;
    let maxOpen = 0;
    const { query } = receiver.ports;
    receiver.ports.query = async (statement, send) => {
      if (statement.startsWith('BEGIN')) maxOpen = Math.max(maxOpen, ++open);
      const answer = await query(statement, send);
      if (/^(COMMIT|ROLLBACK)/.test(statement)) open--;
      return answer;
    };
    await Promise.all(connections.map(({ send }) => send()));
    expect(await countOf(sql, pending)).toBe(40);
    expect(maxOpen).toBe(1);
  });
});
