import type { ApiKey } from './access.ts';
import type { Connection } from './connections.ts';
import type { ConnectionEvent } from './control.ts';
import type { Explanation } from './explain.ts';
import type { JobDetail } from './job-detail.ts';
import type { Job, JobFailure } from './jobs.ts';
import { jsonWithoutSecrets } from './secrets.ts';
import type { StoredSignal } from './signals.ts';
import { isoTime } from './times.ts';

/** What the engine knows, as the command line and the API write it: its own names, in snake_case. */

export function connectionJson({ sync, ...connection }: Connection) {
  return {
    id: connection.id,
    tenant_id: connection.tenantId,
    provider: connection.provider,
    tenant_name: connection.tenantName ?? null,
    provider_name: connection.providerName ?? null,
    external_id: connection.externalId ?? null,
    status: connection.status,
    health: connection.health,
    failing_since: isoTime(connection.failingSince),
    failure: connection.failure ?? null,
    interval_seconds: sync.intervalSeconds ?? null,
    base_interval_seconds: sync.baseIntervalSeconds,
    next_run_at: isoTime(sync.nextRunAt),
    last_ended_at: isoTime(connection.lastEndedAt),
    first_activated_at: isoTime(sync.firstActivatedAt),
    last_jitter_seconds: sync.lastJitterSeconds ?? null,
    cursor: sync.cursor ?? null,
    config: JSON.parse(jsonWithoutSecrets(connection.config)) as Record<string, unknown>,
    invalid_metadata: sync.invalid,
    created_at: isoTime(connection.createdAt),
    updated_at: isoTime(connection.updatedAt),
  };
}

export function explanationJson({ state, sentence, nextRunAt }: Explanation) {
  return { state, sentence, next_run_at: isoTime(nextRunAt) };
}

export function eventJson({ at, kind, actor, reason, jobId }: ConnectionEvent) {
  return { at: isoTime(at), kind, actor, reason: reason ?? null, job_id: jobId ?? null };
}

export function jobJson(job: Job) {
  return {
    id: job.id,
    tenant_id: job.tenantId,
    provider: job.provider,
    connection_id: job.connectionId,
    type: job.type,
    status: job.status,
    priority: job.priority,
    attempts: job.attempts,
    scheduled_at: isoTime(job.scheduledAt),
    retry_after: isoTime(job.retryAfter),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    duration_ms: durationMs(job.startedAt, job.finishedAt),
    signals: job.signals,
    cursor: job.cursor ?? null,
    next_cursor: job.nextCursor ?? null,
    error: errorJson(job.error),
    blocked: job.blocked,
    created_at: isoTime(job.createdAt),
  };
}

/** What to do about each kind of failure. */
const hints: Record<string, string> = {
  rate_limited: 'Nothing to do: it is tried again when the provider allows it.',
  unauthorized: 'Have the customer connect again, then resume the connection.',
  permanent: 'Trying again will not help: correct the cause, then trigger the connection.',
  cursor_expired: 'Nothing to do: a full sync follows by itself.',
  transient: 'It is tried again by itself, with growing pauses.',
};

function errorJson(error: JobFailure | undefined) {
  return error ? { ...error, hint: hints[error.kind] ?? null } : null;
}

function durationMs(from: Date | undefined, to: Date | undefined): number | null {
  return from && to ? Math.max(0, to.getTime() - from.getTime()) : null;
}

export function jobDetailJson({ verdict, runs, ...job }: JobDetail) {
  return {
    ...jobJson(job),
    verdict,
    attempts_log: runs.map((run) => ({
      number: run.number,
      outcome: run.outcome,
      started_at: isoTime(run.startedAt),
      ended_at: isoTime(run.endedAt),
      duration_ms: durationMs(run.startedAt, run.endedAt),
      error: errorJson(run.error),
      retry_after: isoTime(run.retryAfter),
      log: run.log,
    })),
  };
}

export function signalJson(signal: StoredSignal) {
  return {
    id: signal.id,
    tenant_id: signal.tenantId,
    provider: signal.provider,
    connection_id: signal.connectionId,
    job_id: signal.jobId ?? null,
    kind: signal.kind,
    occurred_at: isoTime(signal.occurredAt),
    received_at: isoTime(signal.receivedAt),
    payload: signal.payload,
    dedupe_key: signal.dedupeKey ?? null,
  };
}

export function keyJson(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    scope: key.tenantId === undefined ? 'operator' : 'tenant',
    tenant_id: key.tenantId ?? null,
    created_at: isoTime(key.createdAt),
    created_by: key.createdBy,
    last_used_at: isoTime(key.lastUsedAt),
    revoked_at: isoTime(key.revokedAt),
  };
}
