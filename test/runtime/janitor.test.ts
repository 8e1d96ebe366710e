import { beforeEach, describe, expect, it } from 'vitest';
import type { SynclineOptions } from '../../src/index.ts';
import { operatorId } from '../../src/store/scope.ts';
import { type TestPorts, testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { recordingLogger } from '../support/log.ts';
import { untilSessionsEnd } from '../support/sessions.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE rollups, sessions, api_keys');
});

const clean = (options?: SynclineOptions) => runJanitor(database, options);

const count = (ago: string) =>
  sql(
    `INSERT INTO rollups SELECT owner, '2025-01-01T12:00:00Z'::timestamptz - $2::interval, 'github', 0, 1, 0, 0, 0${', 0'.repeat(24)}
     FROM unnest($1::uuid[]) AS owner`,
    [[operatorId, tenant], ago],
  );
const kept = () =>
  sql<{ minute: Date }>('SELECT DISTINCT minute FROM rollups ORDER BY minute').then((rows) =>
    rows.map(({ minute }) => minute.toISOString().slice(0, 16)),
  );

describe('the janitor', () => {
  it('deletes counts that are older than they are kept, of tenants and of everybody', async () => {
    await count('8 days 1 minute');
    await count('8 days');
    await count('1 minute');
    await clean();
    expect(await kept()).toEqual(['2024-12-24T12:00', '2025-01-01T11:59']);
    expect(await sql('SELECT FROM rollups')).toHaveLength(4);
    await clean({ retention: { statsDays: 1 } });
    expect(await kept()).toEqual(['2025-01-01T11:59']);
  });

  it('deletes many counts in small batches, the oldest first, with a breath between them', async () => {
    for (let i = 0; i < 2100; i++) await count(`${9 + i} days`);
    const sleeps = await clean();
    expect(await sql('SELECT FROM rollups')).toHaveLength(0);
    expect(sleeps).toEqual([50, 50, 60_000]);
  });

  it('makes hours of the minutes of the day before yesterday, and no count is lost', async () => {
    const minutes = Array.from({ length: 40 }, (_, i) => 25 * 60 + 3 * i);
    for (const ago of minutes) await count(`${ago} minutes`);
    const seen = async () => {
      const engine = database.engine({ ports: testPorts('2025-01-01T12:00:30Z') });
      const { points } = await engine.stats.series({ minutes: 48 * 60 });
      return points.map(({ succeeded }) => succeeded);
    };
    const before = await seen();
    expect(before.reduce((sum, runs) => sum + runs, 0)).toBe(40);
    await clean();
    await clean();
    expect(await seen()).toEqual(before);
    expect(
      await sql(
        `SELECT slot, tenant_id, count(*)::int AS rows, sum(succeeded)::int AS runs FROM rollups GROUP BY 1, 2 ORDER BY 1, 2`,
      ),
    ).toEqual([
      { slot: -1, tenant_id: operatorId, rows: 1, runs: 19 },
      { slot: -1, tenant_id: tenant, rows: 1, runs: 19 },
      { slot: 0, tenant_id: operatorId, rows: 21, runs: 21 },
      { slot: 0, tenant_id: tenant, rows: 21, runs: 21 },
    ]);
  });

  it('adds minutes that come late to the hour that was made before', async () => {
    await count('30 hours');
    await clean();
    await count('29 hours 30 minutes');
    await clean();
    expect(await sql(`SELECT minute, succeeded FROM rollups WHERE tenant_id = $1`, [tenant])).toEqual([
      { minute: new Date('2024-12-31T06:00:00Z'), succeeded: 2 },
    ]);
  });

  it('deletes sessions that are over, and no others', async () => {
    await sql(
      `INSERT INTO sessions (hash, actor, created_at, expires_at)
       SELECT sha256(n::text::bytea), 'session ' || n, '2025-01-01T00:00:00Z', '2025-01-01T12:00:00Z'::timestamptz + n * interval '1 second'
       FROM generate_series(-2, 2) n`,
    );
    await clean();
    expect(await sql('SELECT actor FROM sessions ORDER BY actor')).toEqual([
      { actor: 'session 1' },
      { actor: 'session 2' },
    ]);
  });

  describe('of signals that came one by one', () => {
    /** Signals that were stored two days ago, in so many transactions of one each. */
    async function storeOneByOne(transactions: number): Promise<string> {
      const connectionId = await database.connect();
      await sql('DELETE FROM feed');
      await sql(
        `INSERT INTO feed (batch, position, created_at)
         SELECT md5(n::text)::uuid, n, '2024-12-30T12:00:00Z' FROM generate_series(1, $1) n`,
        [transactions],
      );
      await sql(
        `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload, batch)
         SELECT $1, 'github', $2, 'opened', now(), '{}', md5(n::text)::uuid FROM generate_series(1, $3) n`,
        [tenant, connectionId, transactions],
      );
      return connectionId;
    }

    it('deletes as many in a round as it deletes of jobs, so that it keeps up with commits, however small', async () => {
      await storeOneByOne(4100);
      const sleeps = await clean({ retention: { signalsDays: 1 } });
      expect(await sql('SELECT FROM signals')).toHaveLength(0);
      expect(sleeps).toEqual([50, 50, 60_000]);
    });

    it('deletes them in the same rounds as jobs, of which there may always be more', async () => {
      const connectionId = await storeOneByOne(2010);
      await sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
         SELECT $1, 'github', $2, 'incremental', 'succeeded', '2024-01-01T00:00:00Z' FROM generate_series(1, 2001)`,
        [tenant, connectionId],
      );
      const sleeps = await clean({ retention: { signalsDays: 1 } });
      expect(await sql('SELECT FROM signals UNION ALL SELECT FROM sync_jobs')).toHaveLength(0);
      expect(sleeps).toEqual([50, 60_000]);
    });

    it('goes on after transactions whose signals somebody else has deleted', async () => {
      await storeOneByOne(4100);
      await sql('DELETE FROM signals');
      const sleeps = await clean({ retention: { signalsDays: 1 } });
      expect(await sql('SELECT FROM feed')).toHaveLength(0);
      expect(sleeps).toEqual([50, 50, 60_000]);
    });
  });

  it('deletes everything else where one kind cannot be deleted, and says so', async () => {
    const id = await database.connect({ metadata: { sync: { next_run_at: '2030-01-01T00:00:00Z' } } });
    await database.ended(id, '2024-12-01T00:00:00Z');
    await sql(
      'CREATE TABLE public.notes (job_id uuid CONSTRAINT of_a_job REFERENCES syncline.sync_jobs (id))',
    );
    await sql('INSERT INTO public.notes SELECT id FROM sync_jobs');
    await count('9 days');
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       VALUES ($1, 'github', $2, 'opened', now(), '{}')`,
      [tenant, id],
    );
    await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
    const { log, lines } = recordingLogger();
    try {
      await clean({ retention: { signalsDays: 1 }, logger: log });
      expect(await sql('SELECT FROM sync_jobs')).toHaveLength(1);
      expect(await sql('SELECT FROM rollups UNION ALL SELECT FROM signals')).toHaveLength(0);
      expect(lines.map(({ msg }) => msg)).toContainEqual(
        expect.stringMatching(/^janitor failed: .*of_a_job.*; trying again in/),
      );
    } finally {
      await sql('DROP TABLE public.notes');
    }
    await clean();
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(0);
  });

  it('does not ask for every kind when the database cannot be reached', async () => {
    let begun = 0;
    const ports: TestPorts = {
      ...testPorts(),
      query: (text, send) => {
        if (!text.startsWith('BEGIN')) return send();
        begun++;
        return Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      },
    };
    const asleep = ports.asleep();
    await database.engine({ ports }).start({ roles: ['janitor'] });
    await asleep;
    expect(begun).toBe(1);
  });

  it('passes over what somebody holds', async () => {
    await count('9 days');
    const client = await database.session();
    await client.query('BEGIN');
    await client.query('SELECT FROM syncline.rollups WHERE tenant_id = $1 FOR UPDATE', [tenant]);
    await clean();
    expect(await sql('SELECT tenant_id FROM rollups')).toEqual([{ tenant_id: tenant }]);
    await client.query('COMMIT');
    await clean();
    expect(await sql('SELECT FROM rollups')).toHaveLength(0);
  });

  it('SCH-8: ended jobs that an old snapshot keeps in the index are passed once, not by every batch', async () => {
    const id = await database.connect({ metadata: { sync: { next_run_at: '2030-01-01T00:00:00Z' } } });
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
       SELECT $1, 'github', $2, 'incremental', 'succeeded', '2024-12-01T00:00:00Z'::timestamptz + n * interval '1 ms' FROM generate_series(1, 12000) AS n`,
      [tenant, id],
    );
    const client = await database.session();
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('SELECT');
    const entriesRead = async () => {
      await untilSessionsEnd(database);
      const [row] = await sql<{ n: number }>(
        `SELECT idx_tup_read::int AS n FROM pg_stat_user_indexes WHERE indexrelname = 'idx_sync_jobs_ended'`,
      );
      return row?.n ?? Number.NaN;
    };
    const before = await entriesRead();
    await clean();
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(0);
    const read = (await entriesRead()) - before;
    // Six batches and an empty one; from the beginning each time they would read 54,000.
    expect(read).toBeGreaterThanOrEqual(12_000);
    expect(read).toBeLessThan(20_000);
  });

  it('SCH-8: an ended job that was held, or came in late, is deleted within the hour', async () => {
    const ports = testPorts();
    const id = await database.connect({ metadata: { sync: { next_run_at: '2030-01-01T00:00:00Z' } } });
    await database.ended(id, '2024-12-02T00:00:00Z');
    let asleep = ports.asleep();
    await database.engine({ ports }).start({ roles: ['janitor'] });
    await asleep;
    await database.ended(id, '2024-12-01T00:00:00Z');
    const left = async (afterMs: number) => {
      ports.advance(afterMs);
      asleep = ports.asleep();
      ports.wake();
      await asleep;
      return (await sql('SELECT FROM sync_jobs')).length;
    };
    expect(await left(60_000)).toBe(1);
    expect(await left(3_600_000)).toBe(0);
  });
});
