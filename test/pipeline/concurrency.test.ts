import { beforeEach, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, connect } = database;
beforeEach(() => database.empty());

async function count(what: string): Promise<number> {
  const [row] = await sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${what}`);
  return row?.n ?? Number.NaN;
}

describe('SCH-7: one pending job', () => {
  it('SCH-7: 40 concurrent ticks over thousands of due connections place one job each', async () => {
    const due = sized(10_000, 3000);
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug) SELECT $1, 'github' FROM generate_series(1, $2)`,
      [tenant, due],
    );
    const engines = [
      database.engine({ scheduler: { batchSize: 100 } }),
      database.engine({ scheduler: { batchSize: 100 } }),
    ];
    const at = new Date('2025-01-01T12:00:00Z');
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => engines[i % 2]?.tick({ at })));
    expect(results.reduce((sum, result) => sum + (result?.scheduled ?? 0), 0)).toBe(due);
    expect(await count('sync_jobs')).toBe(due);
    expect(await count(`connections WHERE metadata #>> '{sync,next_run_at}' IS NOT NULL`)).toBe(due);
    expect(
      await count('(SELECT connection_id FROM sync_jobs GROUP BY connection_id) AS distinct_connections'),
    ).toBe(due);
  });

  it('SCH-7: skips a connection locked by another transaction', async () => {
    const [held, free] = [await connect(), await connect()];
    const client = await database.session();
    await client.query('BEGIN');
    await client.query('SELECT FROM syncline.connections WHERE id = $1 FOR UPDATE', [held]);
    expect(await database.engine().tick()).toMatchObject({ scheduled: 1 });
    const jobs = await sql('SELECT connection_id FROM sync_jobs');
    expect(jobs).toEqual([{ connection_id: free }]);
  });

  it('SCH-7: a unique violation skips one connection and does not roll back the batch', async () => {
    const [racing, other] = [await connect(), await connect()];
    // The trigger inserts a competing job after all checks have passed.
    await sql(`CREATE FUNCTION faster() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.connection_id = '${racing}' AND pg_trigger_depth() = 1 THEN
          INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
          VALUES (NEW.tenant_id, NEW.provider_slug, NEW.connection_id, NEW.job_type);
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER faster BEFORE INSERT ON sync_jobs FOR EACH ROW EXECUTE FUNCTION faster()`);
    try {
      expect(await database.engine().tick()).toMatchObject({ scheduled: 1, skippedPending: 1 });
      const jobs = await sql<{ connection_id: string }>('SELECT connection_id FROM sync_jobs');
      expect(jobs.map((job) => job.connection_id).sort()).toEqual([racing, other].sort());
    } finally {
      await sql('DROP TRIGGER faster ON sync_jobs; DROP FUNCTION faster');
    }
  });

  it.each(['40001', '40P01'])('SCH-7: a batch that fails with SQLSTATE %s is retried', async (code) => {
    await connect();
    // A sequence is not rolled back.
    await sql(`CREATE SEQUENCE tries;
      CREATE FUNCTION lose_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('syncline.tries') = 1 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER lose_once BEFORE INSERT ON sync_jobs FOR EACH ROW EXECUTE FUNCTION lose_once()`);
    try {
      expect(await database.engine().tick()).toMatchObject({ scheduled: 1 });
    } finally {
      await sql('DROP TRIGGER lose_once ON sync_jobs; DROP FUNCTION lose_once; DROP SEQUENCE tries');
    }
  });

  it('SCH-7: an uncommitted job of another writer delays only its own connection', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => connect()));
    const writer = await database.session();
    await writer.query('BEGIN');
    await writer.query(
      `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'github', $2, 'incremental')`,
      [tenant, ids[17]],
    );
    expect(await database.engine().tick()).toMatchObject({ scheduled: 29, skippedPending: 1 });
    await writer.query('ROLLBACK');
    expect(await database.engine().tick()).toMatchObject({ scheduled: 1 });
  });

  it('SCH-7: a tick neither waits for nor deadlocks with a writer that ends the pending job', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status) VALUES ($1, 'github', $2, 'incremental', 'running')`,
      [tenant, id],
    );
    const client = await database.session();
    await client.query('BEGIN');
    // Triggers are off, so this transaction ends the job without locking the connection.
    await client.query('SET LOCAL session_replication_role = replica');
    await client.query(
      `UPDATE syncline.sync_jobs SET status = 'succeeded', finished_at = now() WHERE connection_id = $1`,
      [id],
    );
    expect(await database.engine().tick()).toMatchObject({ scheduled: 0, skippedPending: 1 });
    await client.query('COMMIT');
  });

  it('SCH-7: a job that ends while the scheduler defers its connection resets waits_for_job', async () => {
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status) VALUES ($1, 'github', $2, 'incremental', 'running')`,
      [tenant, id],
    );
    await database.ended(id, '2030-01-01T00:00:00Z');
    const scheduler = await database.session();
    await scheduler.query('BEGIN');
    await scheduler.query('UPDATE syncline.connections SET waits_for_job = true WHERE id = $1', [id]);
    // Earlier than the recorded end, so the trigger only has to reset waits_for_job.
    const ending = sql(
      `UPDATE sync_jobs SET status = 'succeeded', finished_at = '2025-01-01T00:00:00Z' WHERE connection_id = $1 AND status = 'running'`,
      [id],
    );
    await untilLockWait();
    await scheduler.query('COMMIT');
    await ending;
    expect(await count('connections WHERE waits_for_job')).toBe(0);
  });
});

/** Resolves when a session of this database waits for a lock. */
async function untilLockWait(): Promise<void> {
  while (
    (await count(`pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)) === 0
  ) {
    await new Promise(setImmediate);
  }
}
