import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { Syncline } from '../../src/index.ts';
import { reap } from '../../src/pipeline/reap.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { openDatabase } from '../../src/store/database.ts';
import { connector, signal } from '../support/connector.ts';
import { type TestDatabase, tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { untilSessionsEnd } from '../support/sessions.ts';

const [accurate, misleading, planned] = [useDatabase(), useDatabase(), useDatabase()];
const tables = ['connections', 'sync_jobs', 'signals'];
const total = 10_000;
const due = 500;
const lost = 100;
const deadProcess = '00000000-0000-4000-a000-000000000000';

/** Connections with a finished job, few of them due, and running jobs of a dead process. */
const load = `
  INSERT INTO connections (id, tenant_id, provider_slug, metadata)
    SELECT ('00000000-0000-4000-a000-' || lpad(n::text, 12, '0'))::uuid, '${tenant}', 'github',
      jsonb_build_object('sync', jsonb_build_object('next_run_at', CASE WHEN n <= ${due} THEN '2025-01-01T11:00:00Z' ELSE '2125-01-01T11:00:00Z' END))
    FROM generate_series(1, ${total}) AS n;
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
    SELECT tenant_id, provider_slug, id, 'incremental', 'succeeded', '2025-01-01T10:00:00Z' FROM connections;
  INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload, dedupe_key)
    SELECT tenant_id, provider_slug, id, 'item.created', now(), '{}', 'before' FROM connections;
  INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
    VALUES ('${deadProcess}', 'gone', 1, 1, '{github}', now(), now() - interval '1 minute');
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, process_id, claim_id, started_at)
    SELECT tenant_id, provider_slug, id, 'incremental', 'running', '${deadProcess}', gen_random_uuid(), now()
    FROM connections ORDER BY id DESC LIMIT ${lost};`;

/** Loads the tables in one transaction; ANALYZE runs after its commit, or before, when no row is visible. */
async function fill(database: TestDatabase, when: 'during' | 'after'): Promise<void> {
  for (const table of tables) await database.sql(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  const session = await database.session();
  await session.query(`SET search_path = syncline; BEGIN; ${load}`);
  if (when === 'after') await session.query('COMMIT');
  for (const table of tables) await database.sql(`ANALYZE ${table}`);
  if (when === 'during') await session.query('COMMIT');
  await session.end();
}

/** Live rows: how many dead index entries a scan meets depends on the transactions of other databases. */
async function rowsRead({ sql }: TestDatabase): Promise<number> {
  const [row] = await sql<{ n: number }>(
    'SELECT sum(idx_tup_fetch + seq_tup_read)::int AS n FROM pg_stat_user_tables',
  );
  return row?.n ?? Number.NaN;
}

async function reapDeadProcess({ url }: TestDatabase): Promise<number> {
  const { config } = loadConfig({ options: { database: url } });
  const db = openDatabase(config.database, {
    ports: systemPorts,
    onConnectionLost: () => {},
    onSkew: () => {},
  });
  const { count } = await reap({ db, ports: systemPorts, rateLimit: config.rateLimit }, deadProcess);
  await db.close();
  return count;
}

/** Every tenth run fails. */
function openEngine(database: TestDatabase): Syncline {
  let runs = 0;
  const flaky = connector(() => {
    if (runs++ % 10 === 0) throw new Error('a bad moment');
    return { signals: [signal(runs, 'now')], nextCursor: { runs } };
  });
  return database.engine({
    connectors: [flaky],
    scheduler: { batchSize: 100, jitterPctMin: 0, jitterPctMax: 0 },
    // No retry within the test, however slow the machine.
    rateLimit: { baseSeconds: 900 },
  });
}

/** Postgres plans prepared statements of the engine's sessions once, with all tables empty. */
async function planOnEmptyTables(engine: Syncline): Promise<void> {
  for (let round = 0; round < 10; round++) {
    const { id } = await engine.connections.create({ tenantId: tenant, provider: 'github' });
    await engine.tick();
    await engine.drain();
    await engine.connections.delete(id);
  }
}

/** Runs all due and lost jobs. Nothing is past retention. */
async function syncAll(database: TestDatabase, engine: Syncline): Promise<void> {
  expect((await engine.tick()).scheduled).toBe(due);
  expect(await reapDeadProcess(database)).toBe(lost);
  await engine.drain();
  await engine.stop();
  await runJanitor(database);
}

describe('DB-4: cost is proportional to due connections', () => {
  it('DB-4: statistics of empty tables, and plans made for them, cause no extra reads', async () => {
    async function readsOf(
      database: TestDatabase,
      { analyze, isPlanned }: { analyze: 'during' | 'after'; isPlanned: boolean },
    ): Promise<number> {
      const engine = openEngine(database);
      if (isPlanned) await planOnEmptyTables(engine);
      await fill(database, analyze);
      // The engine's idle sessions report their reads, and keep their plans.
      const before = await rowsRead(database);
      await syncAll(database, engine);
      await untilSessionsEnd(database);
      const read = (await rowsRead(database)) - before;
      // Only now: the reads of this session are added to the statistics later.
      const ended = await database.sql(`SELECT FROM sync_jobs WHERE finished_at > '2025-01-02'`);
      expect(ended).toHaveLength((due + lost) * 0.9);
      return read;
    }
    const expected = await readsOf(accurate, { analyze: 'after', isPlanned: false });
    const bound = 1.25 * expected;
    expect(await readsOf(misleading, { analyze: 'during', isPlanned: false })).toBeLessThan(bound);
    expect(await readsOf(planned, { analyze: 'during', isPlanned: true })).toBeLessThan(bound);
  });
});
