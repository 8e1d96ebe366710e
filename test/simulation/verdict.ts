import { check, type Violation } from '../checker/check.ts';
import type { Simulation } from './simulation.ts';

export interface End {
  /** Whether everything got done once nothing went wrong any more, and when. */
  isDone: boolean;
  doneMs: number;
  hasStopped: boolean;
}

/** Whether everything that providers have is stored, nothing is overdue, and everybody has run since and will again. */
export async function isFinished({ database, world, clock }: Simulation, sinceMs: number): Promise<boolean> {
  const [row] = await database.overseer.sql<{ late: number; items: number }>(
    `SELECT
       (SELECT count(*)::int FROM sync_jobs WHERE status = 'running'
          OR (status = 'queued' AND greatest(scheduled_at, retry_after) <= $1))
       + (SELECT count(*)::int FROM connections c WHERE NOT EXISTS (
            SELECT FROM sync_jobs j WHERE j.connection_id = c.id AND j.job_type = 'incremental'
              AND j.status = 'succeeded' AND j.started_at >= $2))
       + (SELECT count(*)::int FROM connections c WHERE due_at <= $1 AND NOT EXISTS (
            SELECT FROM sync_jobs j WHERE j.connection_id = c.id AND j.job_type = 'incremental'
              AND j.status IN ('queued', 'running'))) AS late,
       (SELECT count(DISTINCT (connection_id, payload ->> 'item'))::int FROM signals) AS items`,
    [new Date(clock.nowMs), new Date(sinceMs)],
  );
  const items = world.accounts.reduce((sum, account) => sum + account.items.length, 0);
  return row?.late === 0 && row.items === items;
}

/** What was promised, and is not so. */
export async function verify(simulation: Simulation, end: End): Promise<Violation[]> {
  const { database, world, config } = simulation;
  const violations = [...simulation.violations];
  if (!end.isDone)
    violations.push({
      invariant: 'once nothing goes wrong, everything gets done',
      detail: await whatIsLeft(simulation),
    });
  else if (!end.hasStopped)
    violations.push({ invariant: 'who is told to stop stops', detail: 'somebody did not' });
  const checked = await check(database.overseer.sql, {
    now: new Date(end.doneMs).toISOString(),
    quiet: end.isDone && end.hasStopped,
    schedule: config.scheduler,
    truth: end.isDone
      ? world.accounts.map(({ connectionId, items }) => ({
          connectionId,
          items,
          keyOf: (payload: unknown) => (payload as { item: string }).item,
        }))
      : [],
  });
  return [
    ...violations,
    ...checked,
    ...(await strangersResults(simulation)),
    ...(await wrongWalks(simulation)),
    ...(await unheardHints(simulation)),
  ];
}

/** EXE-5: what a run found is stored by whoever holds its claim. All engines are one process here: only their names tell them apart. */
async function strangersResults({ database, made }: Simulation): Promise<Violation[]> {
  const rows = await database.overseer.sql<{ id: string; claim_id: string; status: string; writer: string }>(
    `SELECT new ->> 'id' AS id, old ->> 'claim_id' AS claim_id, new ->> 'status' AS status, writer
     FROM syncline_history.versions
     WHERE relation = 'sync_jobs' AND old ->> 'status' = 'running' AND (new ->> 'status' IN ('succeeded', 'failed')
       OR (new ->> 'status' = 'queued' AND new -> 'attempts' <> old -> 'attempts'))
       -- EXE-9: failed by the process that found its own dead.
       AND new #>> '{error,kind}' IS DISTINCT FROM 'process_died'
     ORDER BY seq`,
  );
  return rows
    .filter(({ claim_id, writer }) => !made(writer, claim_id))
    .map(({ id, status, writer }) => ({
      invariant: 'a result is stored by the engine whose claim it is',
      jobId: id,
      detail: `it became ${status} by ${writer}`,
    }));
}

async function whatIsLeft({ database, clock }: Simulation): Promise<string> {
  const jobs = await database.overseer.sql(
    `SELECT c.external_id AS name, c.status AS connection, c.waits_for_job AS waits, c.metadata #>> '{sync,next_run_at}' AS next,
       j.job_type AS type, j.status, j.blocked, j.attempts, j.scheduled_at, j.retry_after, j.process_id
     FROM connections c LEFT JOIN sync_jobs j ON j.connection_id = c.id AND j.status IN ('queued', 'running') ORDER BY 1`,
  );
  return `it is ${new Date(clock.nowMs).toISOString()}\n${jobs.map((job) => `      ${JSON.stringify(job)}`).join('\n')}`;
}

/** EXE-6: a page follows where its provider said so, and nowhere else. Runs that were told both are left out. */
async function wrongWalks({ database, told }: Simulation): Promise<Violation[]> {
  // One that waited already may have had this very cursor; one that is merely let go has its cursor from before.
  const rows = await database.overseer.sql<{
    id: string;
    connection_id: string;
    written: boolean;
    given: boolean;
  }>(
    `SELECT v.new ->> 'id' AS id, v.new ->> 'connection_id' AS connection_id, f.written, f.given
     FROM syncline_history.versions v CROSS JOIN LATERAL (
       SELECT count(*) > 0 AS written,
         coalesce(bool_or(f.old -> 'cursor' IS DISTINCT FROM f.new -> 'cursor'), false) AS given
       FROM syncline_history.versions f WHERE f.xid = v.xid AND f.relation = 'sync_jobs'
         AND f.new ->> 'connection_id' = v.new ->> 'connection_id' AND f.new ->> 'status' = 'queued'
         AND f.new -> 'cursor' <> 'null') f
     WHERE v.relation = 'sync_jobs' AND v.old ->> 'status' = 'running' AND v.new ->> 'status' = 'succeeded'
     ORDER BY v.seq`,
  );
  return rows.flatMap(({ id, connection_id, written, given }) => {
    const answers = told.get(id);
    const [goesOn] = answers ?? [];
    if (answers?.size !== 1 || (goesOn ? written : !given)) return [];
    const detail = goesOn ? 'there was more, and no job goes on' : 'it goes on, and there was nothing more';
    return [
      { invariant: 'a page follows where there is more', jobId: id, connectionId: connection_id, detail },
    ];
  });
}

/** EXE-7: a provider that asks to wait is not asked before. */
async function unheardHints({ database }: Simulation): Promise<Violation[]> {
  const rows = await database.overseer.sql<{ id: string; message: string }>(
    `SELECT v.new ->> 'id' AS id, v.new #>> '{error,message}' AS message FROM syncline_history.versions v
     WHERE v.relation = 'sync_jobs' AND v.old ->> 'status' = 'running' AND v.new ->> 'status' = 'queued'
       AND v.new #>> '{error,kind}' = 'rate_limited' AND v.new #>> '{error,message}' ~ 'asks to wait \\d+ s'
       AND (v.new ->> 'retry_after')::timestamptz < (v.new #>> '{error,at}')::timestamptz
         + substring(v.new #>> '{error,message}' FROM 'asks to wait (\\d+) s')::int * interval '1 second'`,
  );
  return rows.map(({ id, message }) => ({
    invariant: 'a provider that asks to wait is waited for',
    jobId: id,
    detail: message,
  }));
}
