import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import { type Connector, RateLimitedError, systemPorts, TransientError } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { held } from '../support/held.ts';
import { until } from '../support/until.ts';
import { countOf, severalAtATime } from '../support/worker.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './hooked.ts';

const database = useDatabase();
const { sql, connect, job } = database;
const body = '{}';
const pending = `sync_jobs WHERE status IN ('queued', 'running')`;

beforeEach(() => database.empty());

/** A service whose statements are counted, and which runs nothing. */
async function listening(connectors: Connector[] = [hooked({ verify: githubSignature() })]) {
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

type Listening = Awaited<ReturnType<typeof listening>>;

/** A connection, and what sends to its webhook. */
async function connection({ service }: Listening) {
  const id = await connect();
  const { secret } = await service.syncline.webhooks.create(id);
  const headers = asGithub(secret, body);
  return { id, send: () => deliver(service, pathOf(id), body, headers) };
}

/** Sends so many, and sees to it that each is taken. */
const burst = (count: number, send: () => Promise<{ status: number }>) =>
  severalAtATime(50, [...Array(count).keys()], async () => {
    expect((await send()).status).toBe(202);
  });

describe('hints: many become one run, and none is lost', () => {
  it('hints: a thousand while a run is under way are one more run, which begins after the last of them', async () => {
    const here = await listening();
    const { id, send } = await connection(here);
    await job(id);
    const { engine, began, hasBegun, letGo } = held(database);
    const drained = engine.drain();
    await hasBegun(1);
    const before = here.transactions();
    await burst(1000, send);
    expect(began).toHaveLength(1);
    // Whoever finds an earlier hint standing writes nothing.
    expect(here.transactions() - before).toBeLessThanOrEqual(2);
    letGo();
    await hasBegun(2);
    letGo();
    expect(await drained).toMatchObject({ claimed: 2, succeeded: 2 });
    expect(await countOf(sql, pending)).toBe(0);
    expect(await countOf(sql, 'events WHERE connection_id IS NOT NULL')).toBe(1);
  });

  it('hints: a flood while nothing runs is one job and a handful of transactions, also through two processes', async () => {
    const [here, there] = [await listening(), await listening()] as const;
    const id = await connect();
    const { secret } = await here.service.syncline.webhooks.create(id);
    const sendTo =
      ({ service }: Listening) =>
      () =>
        deliver(service, pathOf(id), body, asGithub(secret, body));
    const before = here.transactions() + there.transactions();
    await Promise.all([burst(500, sendTo(here)), burst(500, sendTo(there))]);
    expect(here.transactions() + there.transactions() - before).toBeLessThanOrEqual(4);
    expect(await sql('SELECT status, priority FROM sync_jobs')).toEqual([{ status: 'queued', priority: 0 }]);
  });

  it('hints: a change that a provider told of is synced, without any schedule, however changes and walks meet', {
    timeout: 60_000,
  }, async () => {
    // Shows the newest first, so a walk that has begun does not come by what was added since.
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
        if (calls.get(id) === 20) throw new TransientError('the provider is away for a moment');
        return last > seen
          ? { signals, nextCursor: { seen, walk: { top, next: last } }, hasMore: true }
          : { signals, nextCursor: { seen: top } };
      },
    };
    const here = await listening();
    const worker = database.engine({
      connectors: [hooked({ verify: githubSignature() }, sync)],
      rateLimit: { baseSeconds: 1 },
    });
    await worker.start({ roles: ['executor'] });
    const connections = await Promise.all([1, 2, 3, 4].map(() => connection(here)));
    const most = 60;
    await severalAtATime(4, connections, async ({ id, send }) => {
      for (let i = 1; i <= most; i++) {
        // Several at once now and then, so that walks have more than one page.
        changes.set(id, (changes.get(id) ?? 0) + 1 + (i % 7));
        expect((await send()).status).toBe(202);
      }
    });
    const expected = [...changes.values()].reduce((sum, one) => sum + one, 0);
    await until('everything is stored', async () => (await countOf(sql, 'signals')) === expected);
    await until('nothing is pending', async () => (await countOf(sql, pending)) === 0);
    const runs = await countOf(sql, `sync_jobs WHERE cursor IS NULL`);
    expect(runs).toBeLessThanOrEqual(most * connections.length);
  });

  it('hints: one that comes in the middle of a walk is looked for when the walk has ended, also after a failure', async () => {
    const here = await listening();
    const { id, send } = await connection(here);
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
      'the one more has been run',
      async () => calls.length >= 7 && (await countOf(sql, pending)) === 0,
    );
    expect(calls).toEqual([0, 1, 1, 2, 0, 1, 2]);
  });

  it('hints: one that waits beside a full sync is not lost to the walk that takes its job over', async () => {
    const here = await listening();
    const { id, send } = await connection(here);
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

  it('hints: one that comes while a look is under way has another look follow it', async () => {
    const here = await listening();
    const { id, send } = await connection(here);
    const worker = database.engine({ connectors: [hooked({ verify: githubSignature() })] });
    await send();
    // The answer is on its way, and says that a job waits; meanwhile that job is run.
    let answered = () => {};
    let goOn = () => {};
    const hasAnswer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const mayGoOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isFirst = true;
    let indexLookup = 0;
    here.ports.query = async (statement, send) => {
      const answer = await send();
      if (/LEFT JOIN/.test(statement)) indexLookup++;
      if (!isFirst || !/AND hinted/.test(statement)) return answer;
      isFirst = false;
      answered();
      await mayGoOn;
      return answer;
    };
    const first = send();
    await hasAnswer;
    expect(await worker.drain()).toMatchObject({ succeeded: 1 });
    const second = send();
    // It has been looked up, and waits for the look under way.
    await until('it is looked up', () => indexLookup === 2);
    goOn();
    expect([(await first).status, (await second).status]).toEqual([202, 202]);
    expect(await sql(`SELECT status FROM sync_jobs WHERE connection_id = $1 ORDER BY id`, [id])).toEqual([
      { status: 'succeeded' },
      { status: 'queued' },
    ]);
  });

  it('hints: a job that waits for its time is brought forward; one that backs off is left to the provider', async () => {
    const here = await listening();
    const [early, tired] = [await connection(here), await connection(here)] as const;
    const [waiting, backing] = [
      await job(early.id, { scheduled_at: '2099-01-01' }),
      await job(tired.id, { retry_after: '2099-01-01', attempts: 3 }),
    ] as const;
    await Promise.all([early.send(), tired.send(), tired.send()]);
    const jobs = await sql(
      'SELECT id, scheduled_at <= now() AS due, retry_after::date::text AS until FROM sync_jobs ORDER BY id',
    );
    expect(jobs).toEqual([
      { id: waiting, due: true, until: null },
      { id: backing, due: true, until: '2099-01-01' },
    ]);
    const before = here.transactions();
    await burst(50, tired.send);
    expect(here.transactions()).toBe(before);
  });

  it('hints: a provider that wants fewer requests is not asked again because it sends some', async () => {
    const here = await listening();
    const { id, send } = await connection(here);
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

  it('hints: an executor that sleeps is woken', async () => {
    const here = await listening();
    const { send } = await connection(here);
    let runs = 0;
    const worker = database.engine({
      // It would look by itself in a minute.
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
      await until(`run ${expected}`, () => runs === expected, 20_000);
      await until('it is stored', async () => (await countOf(sql, pending)) === 0);
    }
  });

  it('hints: a flood for many connections takes one database connection at a time', async () => {
    const here = await listening();
    const connections = await Promise.all(Array.from({ length: 40 }, () => connection(here)));
    let open = 0;
    let most = 0;
    const { query } = here.ports;
    here.ports.query = async (statement, send) => {
      if (statement.startsWith('BEGIN')) most = Math.max(most, ++open);
      const answer = await query(statement, send);
      if (/^(COMMIT|ROLLBACK)/.test(statement)) open--;
      return answer;
    };
    await Promise.all(connections.map(({ send }) => send()));
    expect(await countOf(sql, pending)).toBe(40);
    expect(most).toBe(1);
  });
});
