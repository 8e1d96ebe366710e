import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { storeLargeSignals } from '../support/large-signals.ts';
import { startCli } from '../support/process.ts';
import { isFullSize, sampled, sized } from '../support/size.ts';
import { type Answer, call } from './service.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

/** `npm test` runs one list of stored text and one of parsed JSON. */
const itAtFullSize = it.skipIf(!isFullSize);

/** Without the bound, three exceed the heap. */
const readers = sized(6, 3);
const payloads = sized(100, 60);
const events = sized(101, 51);
/** Parsed, 20 times the text. */
const manyValues = JSON.stringify(Array.from({ length: 16_000 }, () => ({})));
const rows = 64;

/** Starts the service in a process with a 128 MB heap; the result retries requests that get 503. */
async function startWithSmallHeap(): Promise<(path: string) => Promise<Answer>> {
  const service = startCli(['start', '--json', '--roles', 'server'], {
    env: {
      SYNCLINE_DATABASE_URL: database.url,
      SYNCLINE_SERVER_PORT: '0',
      SYNCLINE_METRICS_PORT: '0',
      NODE_OPTIONS: '--max-old-space-size=128',
    },
  });
  const log = await service.output(/API at http\S+\/v1/);
  const url = /API at (http\S+)\/v1/.exec(log)?.[1] ?? '';
  const { key } = await database.engine().keys.create({ name: `tests ${randomUUID()}` });
  return async (path) => {
    for (;;) {
      const answer = await call(url, path, key);
      if (answer.status !== 503) return answer;
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      await delay(50);
    }
  };
}

describe('memory is bounded in bytes', () => {
  it('memory: concurrent feed reads over payloads of 780 kB fit in a small heap', async () => {
    await storeLargeSignals(database, payloads);
    const expected = await sql<{ id: string }>(
      'SELECT s.id FROM signals s JOIN feed f USING (batch) ORDER BY f.position, s.tenant_id, s.id',
    );
    const get = await startWithSmallHeap();
    const readAll = async () => {
      const seen: unknown[] = [];
      for (let after = 'beginning'; ; ) {
        const { status, body } = await get(`/v1/signals/feed?limit=100&after=${after}`);
        expect(status).toBe(200);
        if (body.items.length === 0) return seen;
        for (const { id, payload } of body.items) {
          seen.push(id);
          expect((payload as { text: string }).text).toHaveLength(780_000);
        }
        after = String(body['next_cursor']);
      }
    };
    for (const seen of await Promise.all(Array.from({ length: readers }, readAll)))
      expect(seen).toEqual(expected.map(({ id }) => id));
  });

  itAtFullSize('memory: concurrent audit reads of large events fit in a small heap', async () => {
    const connection = await database.connect();
    const engine = database.engine();
    for (let i = 0; i < events; i++)
      await engine.connections.rewind(connection, { cursor: { i, text: 'x'.repeat(250_000) } });
    // As stored by versions that did not truncate cursors.
    await sql(
      `INSERT INTO events (id, tenant_id, connection_id, kind, actor, created_at, detail)
       SELECT gen_random_uuid(), $1, $2, 'connection.rewound', 'api', now(), jsonb_build_object('from', repeat('x', 250000), 'to', repeat('y', 250000))
       FROM generate_series(1, $3)`,
      [tenant, connection, events],
    );
    const get = await startWithSmallHeap();
    const readAll = async () => {
      const seen: unknown[] = [];
      for (let cursor = ''; ; ) {
        const { status, body } = await get(`/v1/audit?kind=connection.rewound&limit=100${cursor}`);
        expect(status).toBe(200);
        seen.push(...body.items.map(({ id }) => id));
        if (body['next_cursor'] === null) return seen;
        cursor = `&cursor=${String(body['next_cursor'])}`;
      }
    };
    for (const seen of await Promise.all(Array.from({ length: readers }, readAll))) {
      expect(seen).toHaveLength(2 * events);
      expect(new Set(seen).size).toBe(2 * events);
    }
  });

  it.each(
    sampled(
      [
        ['token', '[hidden]'],
        ['mode', 'shown'],
      ],
      2,
    ),
  )(
    'memory: a page of connections with many JSON values and a config field "%s" fits in a small heap',
    async (name, expected) => {
      await sql(
        `INSERT INTO connections (id, tenant_id, provider_slug, status, config, metadata)
       SELECT gen_random_uuid(), $1, 'github', 'paused', jsonb_build_object('list', $2::jsonb, $3::text, 'shown'),
         jsonb_build_object('sync', jsonb_build_object('cursor', $2::jsonb)) FROM generate_series(1, $4)`,
        [tenant, manyValues, name, rows],
      );
      const get = await startWithSmallHeap();
      const { status, body } = await get('/v1/connections?limit=100');
      expect(status).toBe(200);
      expect(body.items).toHaveLength(rows);
      for (const { config, cursor } of body.items) {
        expect(config).toMatchObject({ [name]: expected });
        expect(cursor).toHaveLength(16_000);
      }
    },
  );

  itAtFullSize('memory: a page of jobs with many JSON values in errors fits in a small heap', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, finished_at, error)
       SELECT gen_random_uuid(), $1, 'github', $2, 'incremental', 'failed', now(), now(),
         jsonb_build_object('kind', 'permanent', 'message', 'refused', 'one', $3::jsonb, 'two', $3::jsonb)
       FROM generate_series(1, $4)`,
      [tenant, connection, manyValues, rows],
    );
    const get = await startWithSmallHeap();
    const { status, body } = await get('/v1/jobs?limit=100');
    expect(status).toBe(200);
    expect(body.items).toHaveLength(rows);
    for (const { error } of body.items)
      expect(error).toMatchObject({ kind: 'permanent', message: 'refused' });
  });

  itAtFullSize('memory: /v1/system truncates names of processes written by other services', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       SELECT gen_random_uuid(), $1::text, 1, 1, array_fill($2::text, ARRAY[2000]) || $1::text, now(), now() + interval '1 hour'
       FROM generate_series(1, 50)`,
      [megabyte, 'p'.repeat(1000)],
    );
    await sql(
      `INSERT INTO schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled)
       SELECT gen_random_uuid(), $1, 1, now(), now(), 1, 1 FROM generate_series(1, 50)`,
      [megabyte],
    );
    const get = await startWithSmallHeap();
    const { status, text, body } = await get('/v1/system');
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(9 * 1024 * 1024);
    const processes = body['processes'] as { host: string; providers: string[] }[];
    expect(processes.filter(({ host }) => host === 'x'.repeat(500))).toHaveLength(processes.length);
    expect(processes[0]?.providers).toEqual(Array(1000).fill('p'.repeat(500)));
  });

  itAtFullSize('memory: /v1/stats/attention truncates texts written by other services', async () => {
    const megabyte = 'x'.repeat(1_000_000);
    for (let i = 0; i < 50; i++) {
      const connection = await database.connect();
      await sql('UPDATE connections SET failing_since = now(), failure = $2 WHERE id = $1', [
        connection,
        `${i} ${megabyte}`,
      ]);
      await database.job(connection, {
        status: 'failed',
        finished_at: new Date(),
        error: { kind: 'permanent', message: megabyte },
      });
    }
    const get = await startWithSmallHeap();
    const { status, text } = await get('/v1/stats/attention');
    expect(status).toBe(200);
    const items = JSON.parse(text).items as { cause: string; failure: string; message: string }[];
    const failing = items.filter(({ cause }) => cause === 'failing');
    expect(failing).toHaveLength(50);
    for (const { failure, message } of failing) expect([failure.length, message.length]).toEqual([500, 2000]);
  });
});
