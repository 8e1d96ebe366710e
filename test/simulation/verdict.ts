import { check, type Violation } from '../checker/check.ts';
import type { Simulation } from './simulation.ts';

export interface End {
  /** Whether all work completed in the quiet phase, and when. */
  isDone: boolean;
  doneMs: number;
  hasStopped: boolean;
}

/** All items are stored, no job is overdue, and every connection has run since `sinceMs`. */
export async function isFinished(
  { database, fakeProvider, clock }: Simulation,
  sinceMs: number,
): Promise<boolean> {
  const [row] = await database.observer.sql<{ late: number; items: number }>(
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
  const items = fakeProvider.accounts.reduce((sum, account) => sum + account.items.length, 0);
  return row?.late === 0 && row.items === items;
}

export async function verify(simulation: Simulation, end: End): Promise<Violation[]> {
  const { database, fakeProvider, config } = simulation;
  const violations = [...simulation.violations];
  if (!end.isDone)
    violations.push({
      invariant: 'all work completes in the quiet phase',
      detail: await describePending(simulation),
    });
  else if (!end.hasStopped)
    violations.push({ invariant: 'every engine stops on request', detail: 'an engine did not stop' });
  const checked = await check(database.observer.sql, {
    now: new Date(end.doneMs).toISOString(),
    quiet: end.isDone && end.hasStopped,
    schedule: config.scheduler,
    truth: end.isDone
      ? fakeProvider.accounts.map(({ connectionId, items }) => ({
          connectionId,
          items,
          keyOf: (payload: unknown) => (payload as { item: string }).item,
        }))
      : [],
  });
  return [
    ...violations,
    ...checked,
    ...(await foreignResults(simulation)),
    ...(await wrongFollowUps(simulation)),
    ...(await ignoredRetryHints(simulation)),
  ];
}

/** EXE-5. All engines share a process; only their session names differ. */
async function foreignResults({ database, ownsId }: Simulation): Promise<Violation[]> {
  const rows = await database.observer.sql<{ id: string; claim_id: string; status: string; writer: string }>(
    `SELECT new ->> 'id' AS id, old ->> 'claim_id' AS claim_id, new ->> 'status' AS status, writer
     FROM syncline_history.versions
     WHERE relation = 'sync_jobs' AND old ->> 'status' = 'running' AND (new ->> 'status' IN ('succeeded', 'failed')
       OR (new ->> 'status' = 'queued' AND new -> 'attempts' <> old -> 'attempts'))
       -- EXE-9: failed by the process that reaped the dead one.
       AND new #>> '{error,kind}' IS DISTINCT FROM 'process_died'
     ORDER BY seq`,
  );
  return rows
    .filter(({ claim_id, writer }) => !ownsId(writer, claim_id))
    .map(({ id, status, writer }) => ({
      invariant: 'a result is stored by the engine that holds the claim',
      jobId: id,
      detail: `${status} was set by ${writer}`,
    }));
}

async function describePending({ database, clock }: Simulation): Promise<string> {
  const jobs = await database.observer.sql(
    `SELECT c.external_id AS name, c.status AS connection, c.waits_for_job AS waits, c.metadata #>> '{sync,next_run_at}' AS next,
       j.job_type AS type, j.status, j.blocked, j.attempts, j.scheduled_at, j.retry_after, j.process_id
     FROM connections c LEFT JOIN sync_jobs j ON j.connection_id = c.id AND j.status IN ('queued', 'running') ORDER BY 1`,
  );
  return `at ${new Date(clock.nowMs).toISOString()}\n${jobs.map((job) => `      ${JSON.stringify(job)}`).join('\n')}`;
}

/** EXE-6. Ignores runs with contradictory answers. */
async function wrongFollowUps({ database, expectedFollowUps }: Simulation): Promise<Violation[]> {
  // A queued job may have this cursor already; an unblocked job keeps its own.
  const rows = await database.observer.sql<{
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
  return rows.flatMap(({ id, connection_id, written, given: moved }) => {
    const expectations = expectedFollowUps.get(id);
    const [isExpected] = expectations ?? [];
    if (expectations?.size !== 1 || (isExpected ? written : !moved)) return [];
    const detail = isExpected ? 'a follow-up job is missing' : 'a follow-up job was not expected';
    return [
      {
        invariant: 'a follow-up job exists if and only if there are more pages',
        jobId: id,
        connectionId: connection_id,
        detail,
      },
    ];
  });
}

/** EXE-7. */
async function ignoredRetryHints({ database }: Simulation): Promise<Violation[]> {
  const rows = await database.observer.sql<{ id: string; message: string }>(
    `SELECT v.new ->> 'id' AS id, v.new #>> '{error,message}' AS message FROM syncline_history.versions v
     WHERE v.relation = 'sync_jobs' AND v.old ->> 'status' = 'running' AND v.new ->> 'status' = 'queued'
       AND v.new #>> '{error,kind}' = 'rate_limited' AND v.new #>> '{error,message}' ~ 'Retry after \\d+ s'
       AND (v.new ->> 'retry_after')::timestamptz < (v.new #>> '{error,at}')::timestamptz
         + substring(v.new #>> '{error,message}' FROM 'Retry after (\\d+) s')::int * interval '1 second'`,
  );
  return rows.map(({ id, message }) => ({
    invariant: "a provider's retry-after hint is respected",
    jobId: id,
    detail: message,
  }));
}
