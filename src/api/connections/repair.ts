import type { AuditNote, Recorder } from '../../caller/audit.ts';
import { maxScanned, pageLimit } from '../../caller/keyset.ts';
import { aheadLimitsOf } from '../../config/ahead-limits.ts';
import { rateLimitOf } from '../../config/rate-limits.ts';
import type { Config } from '../../config/settings.ts';
import type { Ports } from '../../platform/ports.ts';
import { correctedTimes, isNextRunAhead, jobAhead, jobBeyond } from '../../schedule/ahead.ts';
import { backoffSeconds } from '../../schedule/backoff.ts';
import { baseInterval } from '../../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../../schedule/jitter.ts';
import type { PendingState } from '../../schedule/reschedule.ts';
import { correctBySchedule, scheduleAheadLimits } from '../../schedule/scheduled-placement.ts';
import { readTimetable } from '../../schedule/timetable.ts';
import {
  findAhead,
  lockMovable,
  lockMovableJobs,
  type MovableConnection,
  type MovableJob,
  type MovedJob,
  moveJobs,
  withPendingJob,
} from '../../store/ahead.ts';
import { patchSyncs } from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { wakeExecutors } from '../../store/wake.ts';
import { formatInstant } from '../../values/instant.ts';
import type { ConnectionsApi } from './api.ts';
import { cursorAfter, idAfter } from './list.ts';
import type { RepairedConnection } from './results.ts';

/** Bounds lock waits. */
const lockTimeoutMs = 1000;

interface Plan {
  connection: MovableConnection;
  nextRunAtMs: number | undefined;
  jitterSeconds: number | undefined;
  hasPending: boolean;
  jobs: MovedJob[];
}

/** DB-6. */
export function createRepair({
  db,
  ports,
  config,
  record,
}: {
  db: Database;
  ports: Ports;
  config: Config;
  record: Recorder;
}): Pick<ConnectionsApi, 'repairSchedule'> {
  const limits = aheadLimitsOf(config);
  const { scheduler, rateLimit } = config;

  return {
    async repairSchedule({ dryRun = false, cursor, limit, ...note } = {}) {
      const walk = { after: idAfter(cursor), limit: pageLimit(limit), scan: maxScanned };
      return db.transaction(
        async (tx) => {
          const now = new Date(ports.now());
          const { ids, last, isEnd } = await findAhead(tx, now, limits, walk);
          const plans = ids.length === 0 ? [] : await planAll(tx, ids, now.getTime());
          if (!dryRun && plans.length > 0) await write(tx, now, plans, note);
          return {
            items: plans.map(toItem),
            skipped: ids.length - plans.length,
            nextCursor: isEnd || last === undefined ? undefined : cursorAfter(last),
          };
        },
        { lockTimeoutMs },
      );
    },
  };

  /** Checks locked rows again: another process may have moved them. */
  async function planAll(tx: Queryable, ids: string[], nowMs: number): Promise<Plan[]> {
    const connections = await lockMovable(tx, ids);
    const locked = connections.map(({ id }) => id);
    const jobs = await lockMovableJobs(tx, locked);
    const pending = await withPendingJob(tx, locked);
    return connections
      .map((connection) =>
        plan(
          connection,
          jobs.filter((job) => job.connection_id === connection.id),
          pending.has(connection.id),
          nowMs,
        ),
      )
      .filter(({ nextRunAtMs, jobs: moved }) => nextRunAtMs !== undefined || moved.length > 0);
  }

  function plan(connection: MovableConnection, jobs: MovableJob[], hasPending: boolean, nowMs: number): Plan {
    const { timetable } = readTimetable(connection.schedule);
    const scheduled = timetable && scheduleAheadLimits(timetable, limits, nowMs);
    const baseSeconds = baseInterval(Number(connection.interval), scheduler);
    const judged = jobs.map((job) => ({
      job,
      ahead: scheduled
        ? jobBeyond(queued(job), scheduled.scheduledAtMs, limits, nowMs)
        : jobAhead(queued(job), baseSeconds, limits, nowMs),
    }));
    const isAhead = scheduled
      ? connection.due_ms > scheduled.nextRunAtMs
      : isNextRunAhead(connection.due_ms, baseSeconds, limits, nowMs);
    const placed = judged.find(({ job, ahead }) => job.is_placed && ahead.scheduledAt);
    const pending: PendingState = placed ? 'placed' : hasPending ? 'under way' : 'none';
    const random = ports.random();
    const lastEndedMs = connection.last_ended_ms ?? undefined;
    const interval = { jitterSeconds: sampleJitter(jitterRange(baseSeconds, scheduler), random) };
    const corrected = timetable
      ? correctBySchedule(pending, { timetable, lastEndedMs, bounds: scheduler, random, nowMs })
      : {
          ...interval,
          ...correctedTimes({
            isNextRunAhead: isAhead,
            pending,
            lastEndedMs,
            baseSeconds,
            ...interval,
            nowMs,
          }),
        };
    const { scheduledAtMs = nowMs, jitterSeconds } = corrected;
    const nextRunAtMs = isAhead ? corrected.nextRunAtMs : undefined;
    const policy = rateLimitOf(rateLimit, connection.provider_slug);
    const moved = judged
      .filter(({ ahead }) => ahead.scheduledAt || ahead.retryAfter)
      .map(({ job, ahead }) => {
        const retryMs = ahead.retryAfter
          ? nowMs + backoffSeconds(policy, job.attempts - 1, undefined, ports.random()) * 1000
          : job.retry_ms;
        // Jobs that no scheduler placed were due immediately.
        const placedMs = job === placed?.job ? scheduledAtMs : nowMs;
        return {
          id: job.id,
          // A Date cannot represent infinite times.
          scheduledAt: new Date(
            ahead.scheduledAt || !Number.isFinite(job.scheduled_ms) ? placedMs : job.scheduled_ms,
          ),
          retryAfter: retryMs === null ? null : new Date(retryMs),
        };
      });
    return { connection, nextRunAtMs, jitterSeconds: placed && jitterSeconds, hasPending, jobs: moved };
  }

  async function write(tx: Queryable, now: Date, plans: Plan[], note: AuditNote): Promise<void> {
    const jobs = plans.flatMap((planned) => planned.jobs);
    if (jobs.length > 0) {
      await moveJobs(tx, now, jobs);
      await wakeExecutors(tx);
    }
    const horizonMs = now.getTime() + scheduler.tickIntervalSeconds * 1000;
    const patches = plans.flatMap(({ connection, nextRunAtMs, jitterSeconds, hasPending }) => {
      if (nextRunAtMs === undefined) return [];
      const patch = JSON.stringify({
        next_run_at: formatInstant(nextRunAtMs),
        ...(jitterSeconds !== undefined && { last_jitter_seconds: jitterSeconds }),
      });
      return [
        {
          connectionId: connection.id,
          patch,
          waitsForJob: hasPending && nextRunAtMs <= horizonMs,
          clearSchedule: false,
        },
      ];
    });
    if (patches.length > 0) await patchSyncs(tx, now, patches);
    await record(
      tx,
      now,
      plans.map((planned) => ({
        tenantId: planned.connection.tenant_id,
        connectionId: planned.connection.id,
        kind: 'connection.schedule_repaired' as const,
        detail: detailOf(planned),
      })),
      note,
    );
  }
}

const queued = (job: MovableJob) => ({
  type: job.job_type,
  scheduledAtMs: job.scheduled_ms,
  retryAfterMs: job.retry_ms ?? undefined,
});

function toItem({ connection, nextRunAtMs, jobs }: Plan): RepairedConnection {
  return {
    id: connection.id,
    tenantId: connection.tenant_id,
    provider: connection.provider_slug,
    nextRunAt:
      nextRunAtMs === undefined
        ? undefined
        : { from: new Date(connection.due_ms), to: new Date(nextRunAtMs) },
    jobIds: jobs.map(({ id }) => id),
  };
}

function detailOf({ connection, nextRunAtMs, jobs }: Plan): object {
  return {
    ...(nextRunAtMs !== undefined && {
      from: formatInstant(connection.due_ms),
      to: formatInstant(nextRunAtMs),
    }),
    ...(jobs.length > 0 && { jobs: jobs.map(({ id }) => id) }),
  };
}
