import type { Engine } from './engine.ts';
import type { Simulation } from './simulation.ts';
import type { StatementEnd } from './wire.ts';

/** EXE-9: a reaper takes only jobs of expired processes. */
export function checkReapedLeases(simulation: Simulation, { kind, before, rows }: StatementEnd): void {
  if (kind !== 'find lost' || !before.includes('lock expired') || rows.length === 0) return;
  const ids = rows.map((row) => (row as { id: string }).id);
  const at = new Date(simulation.clock.nowMs);
  simulation.afterStep.push(async () => {
    const alive = await simulation.database.observer.sql<{ id: string; connection_id: string }>(
      `SELECT j.id, j.connection_id FROM sync_jobs j JOIN processes p ON p.id = j.process_id
       WHERE j.id = ANY ($1::uuid[]) AND j.status = 'running' AND p.expires_at > $2`,
      [ids, at],
    );
    for (const { id: jobId, connection_id: connectionId } of alive)
      simulation.violations.push({
        invariant: 'a job is taken from a process only after its lease expired',
        jobId,
        connectionId,
        detail: `at ${at.toISOString()}`,
      });
  });
}

/** DB-6: a claim takes only jobs that are due by the database's clock. */
export function checkClaimsAreDue(simulation: Simulation, { kind, rows }: StatementEnd): void {
  if (kind !== 'mark running' || rows.length === 0) return;
  const ids = rows.map((row) => (row as { id: string }).id);
  const at = new Date(simulation.clock.nowMs);
  simulation.afterStep.push(async () => {
    const early = await simulation.database.observer.sql<{ id: string; connection_id: string }>(
      `SELECT id, connection_id FROM sync_jobs WHERE id = ANY ($1::uuid[]) AND scheduled_at > $2`,
      [ids, at],
    );
    for (const { id: jobId, connection_id: connectionId } of early)
      simulation.violations.push({
        invariant: 'no job is claimed before it is due',
        jobId,
        connectionId,
        detail: `at ${at.toISOString()}`,
      });
  });
}

const dayMs = 24 * 3600 * 1000;

/** DB-6: retention counts by the database's clock. The result has the time of the newest deleted job. */
export function checkRetention(simulation: Simulation, { kind, rows }: StatementEnd): void {
  const [{ last = null } = {}] = rows as { last?: string | null }[];
  if (kind !== 'prune jobs' || last === null) return;
  const cutoffMs = simulation.clock.nowMs - simulation.config.retention.endedJobsDays * dayMs;
  if (Date.parse(last) >= cutoffMs)
    simulation.violations.push({
      invariant: 'an ended job is deleted only after its retention',
      detail: `ended at ${last}, deleted at ${new Date(simulation.clock.nowMs).toISOString()}`,
    });
}

/** EXE-10: a stopped process holds no jobs, unless it could not release its lease. */
export function checkStoppedEngine(simulation: Simulation, engine: Engine): void {
  if (engine.keptLease) return;
  const at = new Date(simulation.clock.nowMs);
  simulation.afterStep.push(async () => {
    const kept = await simulation.database.observer.sql<{ id: string; process_id: string }>(
      `SELECT j.id, j.process_id FROM sync_jobs j JOIN processes p ON p.id = j.process_id
       WHERE j.status = 'running' AND p.expires_at > $1`,
      [at],
    );
    for (const { id: jobId } of kept.filter(({ process_id }) => engine.ownsId(process_id)))
      simulation.violations.push({
        invariant: 'a stopped process holds no job',
        jobId,
        detail: `of ${engine.name}`,
      });
  });
}
