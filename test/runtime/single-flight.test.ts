import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import type { Finished, Running } from '../support/process.ts';
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
 * Writes down every change of a job's status, as part of the transaction that changes it: what was rolled back is not there,
 * and what was committed is, however short it was.
 *
 * `n` is taken when a row is changed, not when that is committed, so in general it does not say what was committed first.
 * For starts and ends of jobs of one connection it does, if the engine does what it claims: it locks the connection, or
 * waits in the unique index, before it changes such a row, and either lasts until the commit. That is what is to be
 * proved, so it is not taken for granted: `seen` is what was committed when the row was changed. If the end of the job
 * before, written by transaction `xid`, is in it, then that end was committed before this start could be.
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
  /** Whether the connection's change before this one was committed by then. */
  follows: boolean | null;
}

describe('eight claimers in four processes, one of which is killed, and connections with several jobs due', () => {
  const database = useDatabase();
  const { sql } = database;
  const names = Array.from({ length: 100 }, (_, i) => `busy-${i}`);
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
        // A full sync brings everything once more, so here keys are needed.
        hasKeys: true,
        syncMs: 5,
      }),
    );
    await until('all eight live', async () => (await countOf(sql, 'processes')) === 8);
    // The jobs come in one statement, so that everybody finds all of them at once.
    await addConnections(sql, names, { types, providers });
    await until('much is done', async () => (await countOf(sql, 'history')) > names.length * 8);
    const [killed, ...others] = workers as [Running, ...Running[]];
    const itsRuns = `sync_jobs WHERE status = 'running' AND process_id IN (SELECT id FROM processes WHERE pid = ${killed.process.pid})`;
    await until('it stands still with jobs that it runs', async () => {
      killed.process.kill('SIGSTOP');
      const runs = await countOf(sql, itsRuns);
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
  }, 90_000);

  it('EXE-3: at no committed instant do two jobs of one connection run', () => {
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

  it('EXE-3: and the claims really came from many processes, and met connections that were busy', async () => {
    const starts = changes.filter(({ became }) => became === 'running');
    // Each connection: a job for each type, and the pages that follow.
    expect(starts.length).toBeGreaterThan(names.length * types.length);
    expect(new Set(starts.map(({ process_id }) => process_id)).size).toBeGreaterThan(4);
    expect(changes.filter(({ was, became }) => was === 'running' && became === 'queued')).not.toEqual([]);
  });

  it('EXE-3: every job runs in the end, and every connection has all of its signals', async () => {
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

  it('EXE-3: claimers never wait for each other in a circle, and nothing fails', async () => {
    const [stats] = await sql(
      'SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(stats).toEqual({ deadlocks: 0 });
    for (const { code, stdout } of survivors) {
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/deadlock|failed: /);
    }
  });
});
