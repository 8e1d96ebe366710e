import type { Engine } from './engine.ts';
import type { Simulation } from './simulation.ts';
import type { StatementEnd } from './wire.ts';

/** EXE-9, by the clock that leases are judged by here: what a reaper has just locked belongs to processes that are expired. */
export function lookAtTaken(simulation: Simulation, { kind, before, rows }: StatementEnd): void {
  if (kind !== 'find lost' || !before.includes('lock expired') || rows.length === 0) return;
  const ids = rows.map((row) => (row as { id: string }).id);
  const at = new Date(simulation.clock.nowMs);
  simulation.looks.push(async () => {
    const alive = await simulation.database.overseer.sql<{ id: string; connection_id: string }>(
      `SELECT j.id, j.connection_id FROM sync_jobs j JOIN processes p ON p.id = j.process_id
       WHERE j.id = ANY ($1::uuid[]) AND j.status = 'running' AND p.expires_at > $2`,
      [ids, at],
    );
    for (const { id: jobId, connection_id: connectionId } of alive)
      simulation.violations.push({
        invariant: 'a job is taken from a process only when its lease is over',
        jobId,
        connectionId,
        detail: `at ${at.toISOString()}`,
      });
  });
}

/** DB-6: a claim takes what is due by the clock of the database, whatever the clock of its process shows. */
export function lookAtClaimed(simulation: Simulation, { kind, rows }: StatementEnd): void {
  if (kind !== 'mark running' || rows.length === 0) return;
  const ids = rows.map((row) => (row as { id: string }).id);
  const at = new Date(simulation.clock.nowMs);
  simulation.looks.push(async () => {
    const early = await simulation.database.overseer.sql<{ id: string; connection_id: string }>(
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

/** EXE-10: nobody has to wait for the jobs of a process that has stopped, unless it said that it could not help it. */
export function lookAtStopped(simulation: Simulation, engine: Engine): void {
  if (engine.keepsLease) return;
  const at = new Date(simulation.clock.nowMs);
  simulation.looks.push(async () => {
    const kept = await simulation.database.overseer.sql<{ id: string; process_id: string }>(
      `SELECT j.id, j.process_id FROM sync_jobs j JOIN processes p ON p.id = j.process_id
       WHERE j.status = 'running' AND p.expires_at > $1`,
      [at],
    );
    for (const { id: jobId } of kept.filter(({ process_id }) => engine.made(process_id)))
      simulation.violations.push({
        invariant: 'a process that has stopped keeps no job',
        jobId,
        detail: `of ${engine.name}`,
      });
  });
}
