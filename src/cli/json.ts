import type { Connection } from '../connections.ts';
import type { ConnectionEvent } from '../control.ts';
import type { Explanation } from '../explain.ts';
import type { Job } from '../jobs.ts';
import type { StoredSignal } from '../signals.ts';
import { isoTime } from './times.ts';

/** What the engine knows, as the command line prints it for machines: its own names, written in snake_case. */

export function connectionJson({ sync, ...connection }: Connection) {
  return {
    id: connection.id,
    tenant_id: connection.tenantId,
    provider: connection.provider,
    external_id: connection.externalId ?? null,
    status: connection.status,
    interval_seconds: sync.intervalSeconds ?? null,
    base_interval_seconds: sync.baseIntervalSeconds,
    next_run_at: isoTime(sync.nextRunAt),
    last_ended_at: isoTime(connection.lastEndedAt),
    first_activated_at: isoTime(sync.firstActivatedAt),
    last_jitter_seconds: sync.lastJitterSeconds ?? null,
    cursor: sync.cursor ?? null,
    config: connection.config,
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
    cursor: job.cursor ?? null,
    error: job.error ?? null,
    blocked: job.blocked,
    created_at: isoTime(job.createdAt),
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
