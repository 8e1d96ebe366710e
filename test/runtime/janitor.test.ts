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
const keptMinutes = () =>
  sql<{ minute: Date }>('SELECT DISTINCT minute FROM rollups ORDER BY minute').then((rows) =>
    rows.map(({ minute }) => minute.toISOString().slice(0, 16)),
  );

describe('the janitor', () => {
  it('janitor: deletes rollups older than their retention, of tenants and of the operator', async () => {
    await count('8 days 1 minute');
    await count('8 days');
    await count('1 minute');
    await clean();
    expect(await keptMinutes()).toEqual(['2024-12-24T12:00', '2025-01-01T11:59']);
    expect(await sql('SELECT FROM rollups')).toHaveLength(4);
    await clean({ retention: { statsDays: 1 } });
    expect(await keptMinutes()).toEqual(['2025-01-01T11:59']);
  });

  it('janitor: prune() ends after its time limit, and the next call continues', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
       SELECT $1, 'github', $2, 'incremental', 'succeeded', '2025-01-01' FROM generate_series(1, 2100)`,
      [tenant, connection],
    );
    const engine = database.engine();
    expect(await engine.prune({ maxMs: 0 })).toBe(false);
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(100);
    expect(await engine.prune()).toBe(true);
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(0);
  });

  it('janitor: deletes rollups in batches, oldest first, with a pause of 50 ms between batches', async () => {
    for (let i = 0; i < 2100; i++) await count(`${9 + i} days`);
    const sleeps = await clean();
    expect(await sql('SELECT FROM rollups')).toHaveLength(0);
    expect(sleeps).toEqual([50, 50, 60_000]);
  });

  it('janitor: merges minutes older than a day into hours without losing counts', async () => {
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

  it('janitor: adds late minutes to an existing hour', async () => {
    await count('30 hours');
    await clean();
    await count('29 hours 30 minutes');
    await clean();
    expect(await sql(`SELECT minute, succeeded FROM rollups WHERE tenant_id = $1`, [tenant])).toEqual([
      { minute: new Date('2024-12-31T06:00:00Z'), succeeded: 2 },
    ]);
  });

  it('janitor: deletes only expired sessions', async () => {
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

  describe('signals of single-signal transactions', () => {
    /** Stores signals two days ago, one per transaction. */
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

    it('janitor: deletes full batches of single-signal transactions', async () => {
      await storeOneByOne(4100);
      const sleeps = await clean({ retention: { signalsDays: 1 } });
      expect(await sql('SELECT FROM signals')).toHaveLength(0);
      expect(sleeps).toEqual([50, 50, 60_000]);
    });

    it('janitor: deletes signals in the same rounds as jobs', async () => {
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

    it('janitor: deletes feed entries whose signals are already deleted', async () => {
      await storeOneByOne(4100);
      await sql('DELETE FROM signals');
      const sleeps = await clean({ retention: { signalsDays: 1 } });
      expect(await sql('SELECT FROM feed')).toHaveLength(0);
      expect(sleeps).toEqual([50, 50, 60_000]);
    });
  });

  it('janitor: logs a table that cannot be pruned and prunes the others', async () => {
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
        expect.stringMatching(/^janitor failed: .*of_a_job.*; retrying in/),
      );
    } finally {
      await sql('DROP TABLE public.notes');
    }
    await clean();
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(0);
  });

  it('janitor: ends the round after the first statement when the database is unreachable', async () => {
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

  it('janitor: skips locked rows', async () => {
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

  it('SCH-8: batches do not rescan index entries of deleted jobs that an old snapshot retains', async () => {
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
    // Six batches and an empty one. Rescanning from the start would read 54,000 entries.
    expect(read).toBeGreaterThanOrEqual(12_000);
    expect(read).toBeLessThan(20_000);
  });

  it('SCH-8: an ended job behind the scan position is deleted within an hour', async () => {
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
