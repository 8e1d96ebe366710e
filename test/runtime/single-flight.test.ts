import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import type { Finished, Running } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  complete,
  countOf,
  nothingPending,
  outcomes,
  startWorker,
} from '../support/worker.ts';

/**
 * Records every change of a job's status in the transaction that makes it, so rolled-back changes are absent.
 *
 * `n` is assigned at the row change, not at COMMIT, so it does not prove commit order. `seen`, the snapshot
 * at the change, does: if the previous end, written by `xid`, is visible in it, it committed before this start.
 */
const recordHistory = `
  CREATE TABLE history (
    n bigserial PRIMARY KEY, connection_id uuid, job_id uuid, process_id uuid, was text, became text,
    xid xid8 DEFAULT pg_current_xact_id(), seen pg_snapshot DEFAULT pg_current_snapshot());
  CREATE FUNCTION record_history() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO syncline.history (connection_id, job_id, process_id, was, became)
    VALUES (NEW.connection_id, NEW.id, NEW.process_id, CASE TG_OP WHEN 'UPDATE' THEN OLD.status END, NEW.status);
    RETURN NULL;
  END $$;
  CREATE TRIGGER history AFTER INSERT OR UPDATE ON sync_jobs FOR EACH ROW EXECUTE FUNCTION record_history()`;

interface Change {
  connection_id: string;
  job_id: string;
  process_id: string | null;
  was: string | null;
  became: string;
  /** Whether the connection's previous change had committed. */
  follows: boolean | null;
}

describe('EXE-3: eight executors in four processes, one of them killed', () => {
  const database = useDatabase();
  const { sql } = database;
  const names = Array.from({ length: sized(100, 50) }, (_, i) => `busy-${i}`);
  const providers = ['north', 'south', 'east'];
  const types = ['incremental', 'full', 'webhook'];
  let changes: Change[];
  let survivors: Finished[];

  beforeAll(async () => {
    await sql(recordHistory);
    const workers = Array.from({ length: 4 }, () =>
      startWorker({
        database: database.url,
        providers,
        engines: 2,
        executor: { leaseSeconds: 2, concurrency: 20, pollIntervalMs: 50 },
        // The full sync returns every signal again; keys absorb the duplicates.
        hasKeys: true,
        syncMs: 5,
      }),
    );
    await until('all eight are registered', async () => (await countOf(sql, 'processes')) === 8);
    // One statement inserts all jobs, so all executors compete for them.
    await addConnections(sql, names, { types, providers });
    await until('many runs have ended', async () => (await countOf(sql, 'history')) > names.length * 8);
    const [killed, ...others] = workers as [Running, ...Running[]];
    const runsOfKilled = `sync_jobs WHERE status = 'running' AND process_id IN (SELECT id FROM processes WHERE pid = ${killed.process.pid})`;
    await until('it is suspended while it runs jobs', async () => {
      killed.process.kill('SIGSTOP');
      const runs = await countOf(sql, runsOfKilled);
      if (runs === 0) killed.process.kill('SIGCONT');
      return runs > 0;
    });
    killed.process.kill('SIGKILL');
    await nothingPending(sql);
    for (const { process } of others) process.kill('SIGTERM');
    survivors = await Promise.all(others.map(({ finished }) => finished));
    expect((await killed.finished).signal).toBe('SIGKILL');
    changes = await sql<Change>(
      `SELECT connection_id, job_id, process_id, was, became,
         pg_visible_in_snapshot(lag(xid) OVER (PARTITION BY connection_id ORDER BY n), seen) AS follows
       FROM history WHERE (was = 'running') IS DISTINCT FROM (became = 'running') AND 'running' IN (was, became)
       ORDER BY n`,
    );
  });

  it('EXE-3: at most one job per connection is running at any committed instant', () => {
    const running = new Map<string, string>();
    const overlaps: Change[] = [];
    for (const change of changes) {
      const { connection_id: connection, job_id: job, became } = change;
      if (became !== 'running') {
        if (running.get(connection) === job) running.delete(connection);
      } else if (running.has(connection) || change.follows === false) overlaps.push(change);
      else running.set(connection, job);
    }
    expect(overlaps).toEqual([]);
    expect(running.size).toBe(0);
  });

  it('EXE-3: the claims came from several processes, and jobs of the killed one were requeued', async () => {
    const starts = changes.filter(({ became }) => became === 'running');
    // Per connection: one job of each type, plus their follow-ups.
    expect(starts.length).toBeGreaterThan(names.length * types.length);
    expect(new Set(starts.map(({ process_id }) => process_id)).size).toBeGreaterThan(4);
    expect(changes.filter(({ was, became }) => was === 'running' && became === 'queued')).not.toEqual([]);
  });

  it('EXE-3: every job succeeds, and every connection has all its signals', async () => {
    const found = Object.values(await outcomes(sql));
    expect(found).toHaveLength(names.length);
    for (const { items, cursor, jobs, attempts } of found) {
      expect({ items, cursor, attempts }).toEqual({
        items: complete.items,
        cursor: complete.cursor,
        attempts: 0,
      });
      expect(new Set(jobs)).toEqual(new Set(['succeeded']));
    }
    expect(await countOf(sql, 'sync_jobs WHERE blocked')).toBe(0);
  });

  it('EXE-3: concurrent claims cause no deadlock and no failed round', async () => {
    const [stats] = await sql(
      'SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(stats).toEqual({ deadlocks: 0 });
    for (const { code, stdout } of survivors) {
      expect(code).toBe(0);
      // On a busy machine a heartbeat may time out; it retries, and claims and commits are unaffected.
      expect(stdout).not.toMatch(/deadlock|(?:executor|commit|reaper) failed: /);
    }
  });
});
