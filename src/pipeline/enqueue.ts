import type { Config } from '../config/settings.ts';
import type { Ports } from '../platform/ports.ts';
import { formatInstant } from '../schedule/instant.ts';
import { baseInterval } from '../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../schedule/jitter.ts';
import { isFiniteInstant, type Placement, place } from '../schedule/placement.ts';
import { type DuePosition, patchSyncs, setWaiting } from '../store/connections.ts';
import type { Database, Queryable } from '../store/database.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { insertIncrementalJobs } from '../store/jobs.ts';
import { wakeExecutors } from '../store/wake.ts';
import { type DueConnection, takeDue } from './due.ts';
import type { SchedulerEvents } from './events.ts';

export interface SchedulerContext {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  telemetry: SchedulerEvents;
}

interface PlannedJob extends Placement {
  id: string;
  connection: DueConnection;
  baseSeconds: number;
  jitterSeconds: number;
}

export interface BatchResult {
  /** Set after a full batch. */
  continueAfter: DuePosition | undefined;
  placed: number;
  /** Of those placed. */
  overdue: number;
  skippedPending: number;
  invalidMetadata: number;
}

export interface Batch {
  /** Overrides the database's clock. */
  atMs: number | undefined;
  /** Undefined: from the first due connection. */
  after: DuePosition | undefined;
  limit: number;
  /** Applies to uncommitted job inserts for one of these connections. */
  lockTimeoutMs: number;
}

/** SCH-1: one batch in one transaction. */
export async function enqueueBatch(context: SchedulerContext, batch: Batch): Promise<BatchResult> {
  const { db, config, ports, telemetry } = context;
  const { atMs, limit, lockTimeoutMs } = batch;
  let last: DuePosition | undefined;
  const { placed, blocked } = await db
    .transaction(
      async (tx) => {
        const nowMs = atMs ?? tx.now.getTime();
        const taken = await takeDue(tx, {
          ...batch,
          nowMs,
          tickIntervalSeconds: config.tickIntervalSeconds,
          bounds: config,
        });
        last = taken.due.length === limit ? taken.last : undefined;
        const planned = taken.due.map((connection) => plan(connection, config, ports, nowMs));
        return writeBatch(tx, planned, config, nowMs);
      },
      { lockTimeoutMs, triggers: 'off' },
    )
    .catch((error: unknown) => {
      // An uncommitted insert of its job counts as pending.
      if (limit === 1 && isLockTimeout(error)) return { placed: [], blocked: [undefined] };
      throw error;
    });

  // Emit after COMMIT; a rolled-back batch placed no jobs.
  for (const job of placed) telemetry.jobPlaced(job, config);
  const invalid = placed.filter((job) => job.connection.sync.invalid.length > 0);
  for (const job of invalid) telemetry.invalidMetadata(job.connection);
  return {
    continueAfter: last,
    placed: placed.length,
    overdue: placed.filter((job) => job.connection.isOverdue).length,
    skippedPending: blocked.length,
    invalidMetadata: invalid.length,
  };
}

function plan(
  connection: DueConnection,
  config: Config['scheduler'],
  ports: Ports,
  nowMs: number,
): PlannedJob {
  const baseSeconds = baseInterval(connection.sync.intervalSeconds, config);
  const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), ports.random());
  const placement = place({
    lastEndedMs: connection.lastEndedMs,
    activatedMs: connection.sync.firstActivatedAtMs,
    createdMs: connection.createdMs,
    baseSeconds,
    jitterSeconds,
    nowMs,
  });
  return { id: ports.newId(), connection, baseSeconds, jitterSeconds, ...placement };
}

async function writeBatch(
  tx: Queryable,
  planned: PlannedJob[],
  config: Config['scheduler'],
  nowMs: number,
): Promise<{ placed: PlannedJob[]; blocked: PlannedJob[] }> {
  if (planned.length === 0) return { placed: [], blocked: [] };
  const now = new Date(nowMs);
  const inserted = await insertIncrementalJobs(tx, now, planned.map(newJob));
  const placed = planned.filter((job) => inserted.has(job.connection.id));
  const blocked = planned.filter((job) => !inserted.has(job.connection.id));
  const patches = placed.map((job) => syncPatch(job, config, nowMs));
  const waiting = blocked.map((job) => job.connection.id);
  if (patches.length > 0) await patchSyncs(tx, now, patches);
  if (waiting.length > 0) await setWaiting(tx, waiting);
  if (placed.some((job) => job.scheduledAtMs <= nowMs + soonMs)) await wakeExecutors(tx);
  return { placed, blocked };
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
  return {
    connectionId: job.connection.id,
    patch: JSON.stringify({
      next_run_at: formatInstant(job.nextRunAtMs),
      last_jitter_seconds: job.jitterSeconds,
      ...repairs(job.connection, config),
    }),
    // Due again before the next tick, while its job is pending.
    waitsForJob: job.nextRunAtMs <= horizonMs,
  };
}

/** SCH-3, DB-3: overwrites invalid fields, so they are logged once. */
function repairs(
  { sync, createdMs }: DueConnection,
  { defaultIntervalSeconds }: Config['scheduler'],
): object {
  const isWrong = (name: string) => sync.invalid.some(({ field }) => field === name);
  return {
    ...(isWrong('interval_seconds') && { interval_seconds: defaultIntervalSeconds }),
    ...(isWrong('first_activated_at') && {
      first_activated_at: isFiniteInstant(createdMs) ? formatInstant(createdMs) : null,
    }),
  };
}
