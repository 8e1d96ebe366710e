import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';

const activeChance = 0.1;
const writeChance = 0.05;

/** Another service that writes documented columns in SQL. A stream of its own: other seeds keep their steps. */
export const drawOutsideWriter = (random: Random): Random | undefined =>
  random.chance(activeChance) ? random : undefined;

/** Only connections that no engine has locked: a wait would stop the simulation. */
const free = '(SELECT id FROM connections WHERE id = $1 FOR UPDATE SKIP LOCKED)';

const moveNextRun = `UPDATE connections
  SET metadata = patch_sync(metadata, jsonb_build_object('next_run_at', $2::text)) WHERE id IN ${free}`;
const insertJob = `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, scheduled_at, created_at, updated_at)
  SELECT $3::uuid, tenant_id, provider_slug, id, 'incremental', $2::timestamptz, $2, $2 FROM connections
  WHERE id IN ${free} AND NOT EXISTS (
    -- ON CONFLICT would wait for a claim that changes the pending job without the lock of its connection.
    SELECT FROM sync_jobs WHERE connection_id = $1 AND job_type = 'incremental' AND status IN ('queued', 'running'))
  ON CONFLICT DO NOTHING`;
const endJob = `UPDATE sync_jobs SET status = 'succeeded', finished_at = $2::timestamptz, updated_at = $2
  WHERE connection_id IN ${free} AND id IN (
    SELECT id FROM sync_jobs WHERE connection_id = $1 AND job_type = 'incremental' AND status = 'queued' AND cursor IS NULL
    FOR UPDATE SKIP LOCKED)`;

/** Before each step of the fault phase. */
export async function writeFromOutside({ outsideWriter: random, ...simulation }: Simulation): Promise<void> {
  if (!random?.chance(writeChance)) return;
  const { fakeProvider, clock, database, trace, recorder } = simulation;
  const { connectionId, name } = random.pick(fakeProvider.accounts);
  const at = (ms: number) => new Date(clock.nowMs + ms).toISOString();
  const write = random.pick(['move', 'move', 'insert', 'end'] as const);
  trace.step(`another service: ${write} ${name}`);
  if (write === 'move') {
    await database.observer.sql(moveNextRun, [connectionId, at(random.integer(-20, 20) * 60_000)]);
    recorder.note('another service moved next_run_at');
  } else if (write === 'end') await database.observer.sql(endJob, [connectionId, at(0)]);
  else {
    const id = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join('');
    await database.observer.sql(insertJob, [connectionId, at(0), id]);
  }
}
