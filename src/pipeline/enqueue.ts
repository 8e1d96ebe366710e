import type { Config } from '../config/settings.ts';
import { isFiniteInstant } from '../schedule/placement.ts';
import { patchSyncs, setWaiting } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';
import { insertIncrementalJobs } from '../store/jobs.ts';
import { wakeExecutors } from '../store/wake.ts';
import { formatInstant } from '../values/instant.ts';
import type { DueConnection } from './due.ts';
import type { PlannedJob } from './plan.ts';

/** `blocked`: a job is pending (SCH-7). `deferred`: without a job (SCH-12). */
export async function enqueue(
  tx: Queryable,
  planned: PlannedJob[],
  { config, nowMs, writesDueAt }: { config: Config['scheduler']; nowMs: number; writesDueAt: boolean },
): Promise<{ placed: PlannedJob[]; blocked: PlannedJob[]; deferred: PlannedJob[] }> {
  if (planned.length === 0) return { placed: [], blocked: [], deferred: [] };
  const now = new Date(nowMs);
  const deferred = planned.filter(({ isDeferred }) => isDeferred);
  const due = deferred.length === 0 ? planned : planned.filter(({ isDeferred }) => !isDeferred);
  const inserted = await insertIncrementalJobs(tx, now, due.map(newJob));
  const placed = due.filter((job) => inserted.has(job.connection.id));
  const blocked = due.filter((job) => !inserted.has(job.connection.id));
  const patches = [...placed, ...deferred].map((job) => syncPatch(job, config, nowMs));
  const waiting = blocked.map((job) => job.connection.id);
  if (patches.length > 0) await patchSyncs(tx, now, patches, writesDueAt);
  if (waiting.length > 0) await setWaiting(tx, waiting);
  if (placed.some((job) => job.scheduledAtMs <= nowMs + soonMs)) await wakeExecutors(tx);
  return { placed, blocked, deferred };
}

/** Executors find later jobs by polling. */
const soonMs = 5000;

function newJob({ id, connection, scheduledAtMs }: PlannedJob) {
  return {
    id,
    tenantId: connection.tenantId,
    providerSlug: connection.providerSlug,
    connectionId: connection.id,
    scheduledAt: new Date(scheduledAtMs),
  };
}

function syncPatch(job: PlannedJob, config: Config['scheduler'], nowMs: number) {
  const horizonMs = nowMs + config.tickIntervalSeconds * 1000;
  const dueMs = job.isDeferred ? job.slotMs : job.nextRunAtMs;
  return {
    connectionId: job.connection.id,
    dueAt: new Date(dueMs),
    patch: JSON.stringify({
      next_run_at: formatInstant(dueMs),
      ...(!job.isDeferred && { last_jitter_seconds: job.jitterSeconds }),
      ...repairs(job.connection, config),
    }),
    // Due again before the next tick, its job pending.
    waitsForJob: job.nextRunAtMs <= horizonMs,
    clearSchedule: isWrong(job.connection, 'schedule'),
  };
}

/** SCH-3, DB-3: overwrites invalid fields, so they are logged once. */
function repairs(connection: DueConnection, { defaultIntervalSeconds }: Config['scheduler']): object {
  const { createdMs } = connection;
  return {
    ...(isWrong(connection, 'interval_seconds') && { interval_seconds: defaultIntervalSeconds }),
    ...(isWrong(connection, 'first_activated_at') && {
      first_activated_at: isFiniteInstant(createdMs) ? formatInstant(createdMs) : null,
    }),
  };
}

const isWrong = ({ sync }: DueConnection, name: string) => sync.invalid.some(({ field }) => field === name);
