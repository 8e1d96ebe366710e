import { beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/postgres.ts';
import type { Role } from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql, connect } = database;
beforeEach(() => database.empty());

const jobs = () => sql('SELECT FROM sync_jobs');

describe('the scheduler role', () => {
  it('SCH-1: ticks immediately, then every tick interval', async () => {
    const ports = testPorts();
    await connect({ created_at: '2025-01-01T12:00:00Z' });
    const syncline = database.engine({ ports });
    const asleep = ports.asleep();
    await syncline.start({ roles: ['scheduler'] });
    expect(await asleep).toBe(60_000);
    expect(await jobs()).toHaveLength(1);

    await connect({ created_at: '2025-01-01T12:00:00Z' });
    ports.advance(60_000);
    const again = ports.asleep();
    ports.wake();
    await again;
    expect(await jobs()).toHaveLength(2);
  });

  it('SCH-9: stop() during a tick commits the current batch and starts no other', async () => {
    for (let i = 0; i < 5; i++) await connect();
    const { log, lines } = recordingLogger();
    const syncline = database.engine({ logger: log, scheduler: { batchSize: 1 } });
    const gate = await blockInserts();
    await syncline.start({ roles: ['scheduler'] });
    await gate.reached();
    const stopping = syncline.stop();
    await gate.open();
    await stopping;

    const placed = (await jobs()).length;
    expect(placed).toBe(1);
    const consistent = await sql(
      `SELECT FROM connections c LEFT JOIN sync_jobs j ON j.connection_id = c.id
       WHERE (j.id IS NOT NULL) = (c.metadata #>> '{sync,next_run_at}' IS NOT NULL)`,
    );
    expect(consistent).toHaveLength(5);
    expect(lines.map((line) => line['event']).filter(Boolean)).toEqual(['shutdown', 'stopped']);
    expect(lines.findIndex((line) => line['scheduled'] === 1)).toBeGreaterThan(
      lines.findIndex((line) => line['event'] === 'shutdown'),
    );
  });

  it('SCH-9: stop() before start() and repeated stop() succeed', async () => {
    const syncline = database.engine();
    await Promise.all([syncline.stop(), syncline.stop()]);
    await syncline.stop();
  });

  it('start: a second start() fails with CONFLICT', async () => {
    const syncline = database.engine({ ports: testPorts() });
    await syncline.start({ roles: ['scheduler'] });
    await expect(syncline.start({ roles: ['scheduler'] })).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('SCH-9: stop() during connection retries ends start() without error', async () => {
    const ports = testPorts();
    const url = `postgres://user@127.0.0.1:${await freePort()}/none`;
    const syncline = database.engine({ database: url, ports });
    const waiting = ports.asleep();
    const starting = syncline.start();
    await waiting;
    await syncline.stop();
    await starting;
  });

  it('start: succeeds after an earlier start() failed with SCHEMA_MISSING', async () => {
    const ports = testPorts();
    const syncline = database.engine({ database: { url: database.url, schema: 'later' }, ports });
    await expect(syncline.start()).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
    await syncline.migrate();
    await syncline.start({ roles: ['janitor'] });
  });

  it('SCH-1: a tick on a read-only server fails with the message from Postgres', async () => {
    await connect();
    // The error of a replica. A session setting would have no effect (DB-5).
    await sql(`CREATE FUNCTION read_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction' USING ERRCODE = 'read_only_sql_transaction'; END $$`);
    await sql('CREATE TRIGGER refuse BEFORE INSERT ON sync_jobs EXECUTE FUNCTION read_only()');
    await expect(database.engine().tick()).rejects.toMatchObject({
      message: expect.stringContaining('read-only transaction'),
    });
    await sql('DROP FUNCTION read_only CASCADE');
  });

  it('start: rejects an unknown role and suggests the closest one', async () => {
    await expect(database.engine().start({ roles: ['schedular' as Role] })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      hint: 'Did you mean scheduler?',
    });
  });

  it('SCH-1: a failed tick is logged and retried', async () => {
    const ports = testPorts(undefined, () => 0);
    const { log, lines } = recordingLogger();
    const syncline = database.engine({ ports, logger: log });
    await connect();
    await sql('ALTER TABLE sync_jobs RENAME TO sync_jobs_away');
    const failed = ports.asleep();
    await syncline.start({ roles: ['scheduler'] });
    expect(await failed).toBe(125);
    await sql('ALTER TABLE sync_jobs_away RENAME TO sync_jobs');
    const recovered = ports.asleep();
    ports.wake();
    expect(await recovered).toBe(60_000);
    expect(await jobs()).toHaveLength(1);
    expect(lines.find((line) => line.level === 'error')?.msg).toContain('scheduler failed');
  });
});

describe('the janitor role', () => {
  const endedAt = (id: string, finishedAt: string, status = 'succeeded') =>
    database.ended(id, finishedAt, status);

  it('SCH-8: deletes only ended jobs older than their retention', async () => {
    const ports = testPorts('2025-01-10T00:00:00Z');
    const id = await connect({ metadata: { sync: { next_run_at: '2030-01-01T00:00:00Z' } } });
    for (const status of ['succeeded', 'completed', 'failed', 'cancelled'])
      await endedAt(id, '2025-01-02T23:59:59Z', status);
    await endedAt(id, '2025-01-03T00:00:01Z');
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at, updated_at)
       VALUES ($1, 'github', $2, 'incremental', '2020-01-01', '2020-01-01')`,
      [tenant, id],
    );
    const syncline = database.engine({ ports });
    const asleep = ports.asleep();
    await syncline.start({ roles: ['janitor'] });
    expect(await asleep).toBe(60_000);
    const left = await sql('SELECT status FROM sync_jobs ORDER BY status');
    expect(left).toEqual([{ status: 'queued' }, { status: 'succeeded' }]);
  });

  it('SCH-8: deletes in batches 50 ms apart, and the next slot still counts from the last run', async () => {
    const ports = testPorts('2025-01-10T00:00:00Z');
    const id = await connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
       SELECT $1, 'github', $2, 'incremental', 'succeeded', '2025-01-01T00:00:00Z'::timestamptz + n * interval '250 ms' FROM generate_series(1, 4800) AS n`,
      [tenant, id],
    );
    const syncline = database.engine({ ports, scheduler: { jitterPctMax: 0 } });
    const first = ports.asleep();
    await syncline.start({ roles: ['janitor'] });
    await first;
    for (let round = 0; round < 2; round++) {
      const next = ports.asleep();
      ports.wake();
      await next;
    }
    expect(ports.sleeps.slice(0, 3)).toEqual([50, 50, 60_000]);
    expect(await jobs()).toHaveLength(0);
    await syncline.tick();
    const [job] = await sql<{ scheduled_at: Date }>('SELECT scheduled_at FROM sync_jobs');
    const last = Date.parse('2025-01-01T00:20:00Z');
    expect(((job?.scheduled_at.getTime() ?? 0) - last) % 900_000).toBe(0);
  });
});

/** Blocks the scheduler's next insert, inside its transaction, until `open`. */
async function blockInserts() {
  const client = await database.session();
  await client.query('BEGIN');
  await client.query('LOCK TABLE syncline.sync_jobs IN SHARE MODE');
  return {
    reached: async () => {
      for (;;) {
        const waiting = await sql(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        if (waiting.length > 0) return;
        await new Promise(setImmediate);
      }
    },
    open: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
}
