import type { BudgetStatus } from '../budgets/index.ts';
import type { StoredCredential } from '../credentials/index.ts';
import type { Consumer, FeedSignal, StoredSignal } from '../feed/index.ts';
import type { Deletion } from '../runtime/index.ts';
import { jsonWithoutSecrets } from '../values/redact.ts';
import { isoTime } from '../values/time-text.ts';
import type { ConnectionWebhook } from '../webhooks/index.ts';
import type { ApiKey } from './access.ts';
import type { AuditEvent } from './audit.ts';
import type { Explanation } from './connections/explain.ts';
import type { PastCursor } from './connections/index.ts';
import type { ConnectionEvent } from './connections/lifecycle.ts';
import type { Connection } from './connections/model.ts';
import type { RepairStep } from './connections/repair.ts';
import type { JobDetail } from './jobs/detail.ts';
import type { Job, JobFailure } from './jobs/index.ts';
import type { Provider, Tenant } from './registry.ts';

/** JSON of the API and the CLI: snake_case, ISO-8601 times, null for absent values. */

export const iso = (at: Date): string => isoTime(at) ?? '';

export const tenantJson = ({ id, name, createdAt }: Tenant) => ({
  id,
  name: name ?? null,
  created_at: iso(createdAt),
});

export const providerJson = (provider: Provider) => ({
  slug: provider.slug,
  display_name: provider.displayName ?? null,
  auth_type: provider.authType ?? null,
  created_at: iso(provider.createdAt),
  updated_at: iso(provider.updatedAt),
});

export function connectionJson(connection: Connection) {
  const { sync, recent } = connection;
  return {
    id: connection.id,
    tenant_id: connection.tenantId,
    tenant_name: connection.tenantName ?? null,
    provider: connection.provider,
    provider_name: connection.providerName ?? null,
    external_id: connection.externalId ?? null,
    credential_id: connection.credentialId ?? null,
    status: connection.status,
    health: connection.health,
    failing_since: isoTime(connection.failingSince),
    failure: connection.failure ?? null,
    deleting_since: isoTime(connection.deletingSince),
    interval_seconds: sync.intervalSeconds ?? null,
    base_interval_seconds: sync.baseIntervalSeconds,
    next_start_at: isoTime(connection.nextStartAt),
    next_run_at: isoTime(sync.nextRunAt),
    last_ended_at: isoTime(connection.lastEndedAt),
    first_activated_at: isoTime(sync.firstActivatedAt),
    last_jitter_seconds: sync.lastJitterSeconds ?? null,
    cursor: sync.cursor ?? null,
    config: JSON.parse(jsonWithoutSecrets(connection.config)) as Record<string, unknown>,
    invalid_metadata: sync.invalid,
    created_at: iso(connection.createdAt),
    updated_at: iso(connection.updatedAt),
    ...(recent && {
      recent: recent.map((job) => ({
        job_id: job.jobId,
        status: job.status,
        ended_at: isoTime(job.endedAt),
        duration_ms: job.durationMs ?? null,
        signals: job.signals,
      })),
    }),
  };
}

export const cursorJson = ({ jobId, at, cursor, current }: PastCursor) => ({
  job_id: jobId,
  at: iso(at),
  cursor: cursor ?? null,
  current,
});

const hints: Record<string, string> = {
  rate_limited: 'No action needed: retried when the provider allows it.',
  unauthorized: 'Ask the customer to connect again, then resume the connection.',
  permanent: 'Retrying will not help: fix the cause, then trigger the connection.',
  cursor_expired: 'No action needed: a full sync follows automatically.',
  transient: 'Retried automatically with backoff.',
  process_died: 'Find out why these processes died: memory limits, native crashes, calls of process.exit().',
};

/** Other writers may have stored any JSON. */
function errorJson(error: JobFailure | undefined) {
  if (error === undefined) return null;
  const text = (value: unknown, fallback: string) => (typeof value === 'string' ? value : fallback);
  const kind = text(error.kind, 'unknown');
  const hint = Object.hasOwn(hints, kind) ? hints[kind] : undefined;
  return {
    kind,
    name: text(error.name, 'Error'),
    message: text(error.message, JSON.stringify(error).slice(0, 2000)),
    at: text(error.at, ''),
    ...(hint && { hint }),
  };
}

function durationMs(from: Date | undefined, to: Date | undefined): number | null {
  const ms = from && to ? to.getTime() - from.getTime() : Number.NaN;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/** Rows may still hold the older status `completed`. */
const statusJson = (status: Job['status']) => (status === 'completed' ? 'succeeded' : status);

export function jobJson(job: Job) {
  return {
    id: job.id,
    tenant_id: job.tenantId,
    provider: job.provider,
    connection_id: job.connectionId,
    connection_name: job.connectionName ?? null,
    type: job.type,
    status: statusJson(job.status),
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
    created_at: iso(job.createdAt),
  };
}

export function jobDetailJson(job: JobDetail) {
  return {
    ...jobJson(job),
    verdict: job.verdict,
    attempts_log: job.runs.map((attempt) => ({
      number: attempt.number,
      outcome: attempt.outcome,
      started_at: isoTime(attempt.startedAt),
      ended_at: isoTime(attempt.endedAt),
      duration_ms: durationMs(attempt.startedAt, attempt.endedAt),
      error: errorJson(attempt.error),
      retry_after: isoTime(attempt.retryAfter),
      log: attempt.log,
    })),
  };
}

export function signalJson(signal: StoredSignal, { payload }: { payload: boolean }) {
  return {
    id: signal.id,
    tenant_id: signal.tenantId,
    provider: signal.provider,
    connection_id: signal.connectionId,
    connection_name: signal.connectionName ?? null,
    job_id: signal.jobId ?? null,
    kind: signal.kind,
    occurred_at: isoTime(signal.occurredAt),
    received_at: iso(signal.receivedAt),
    dedupe_key: signal.dedupeKey ?? null,
    ...(payload && { payload: signal.payload ?? null }),
  };
}

export const feedSignalJson = (signal: FeedSignal, options: { payload: boolean }) => ({
  ...signalJson(signal, options),
  cursor: signal.cursor,
});

export const consumerJson = (consumer: Consumer) => ({
  name: consumer.name,
  tenant_id: consumer.tenantId ?? null,
  after: consumer.after ?? null,
  moved_at: isoTime(consumer.movedAt),
  created_at: iso(consumer.createdAt),
});

export const budgetJson = (budget: BudgetStatus) => ({
  key: budget.key,
  provider: budget.provider,
  name: budget.name,
  tenant_id: budget.tenantId ?? null,
  credential_id: budget.credentialId ?? null,
  limit: budget.limit,
  period_seconds: budget.periodSeconds,
  left: budget.left,
  leased: budget.leased,
  resets_at: isoTime(budget.resetsAt),
  learned_at: isoTime(budget.learnedAt),
});

export const auditEventJson = (event: AuditEvent) => ({
  id: event.id,
  at: iso(event.at),
  kind: event.kind,
  actor: event.actor,
  key_id: event.keyId ?? null,
  reason: event.reason ?? null,
  tenant_id: event.tenantId ?? null,
  connection_id: event.connectionId ?? null,
  job_id: event.jobId ?? null,
  detail: (event.detail as Record<string, unknown> | undefined) ?? null,
});

export const deletionJson = (deletion: Deletion) => ({
  connection_id: deletion.connectionId,
  tenant_id: deletion.tenantId,
  state: deletion.state,
  deleted_signals: deletion.deletedSignals,
  estimated_signals: deletion.estimatedSignals,
  error: deletion.error ?? null,
  requested_at: iso(deletion.requestedAt),
  updated_at: iso(deletion.updatedAt),
  finished_at: isoTime(deletion.finishedAt),
});

export const keyJson = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scope: key.tenantId === undefined ? ('operator' as const) : ('tenant' as const),
  tenant_id: key.tenantId ?? null,
  created_at: iso(key.createdAt),
  created_by: key.createdBy,
  parent_id: key.parentId ?? null,
  last_used_at: isoTime(key.lastUsedAt),
  revoked_at: isoTime(key.revokedAt),
});

export const webhookJson = (webhook: ConnectionWebhook) => ({
  connection_id: webhook.connectionId,
  path: webhook.path,
  exists: webhook.exists,
  created_at: isoTime(webhook.createdAt),
  last_received_at: isoTime(webhook.lastReceivedAt),
});

export const credentialJson = (credential: StoredCredential) => ({
  id: credential.id,
  tenant_id: credential.tenantId,
  provider: credential.provider,
  name: credential.name ?? null,
  kind: credential.kind,
  generation: credential.generation,
  expires_at: isoTime(credential.expiresAt),
  refused_at: isoTime(credential.refusedAt),
  refused_reason: credential.refusedReason ?? null,
  refreshed_at: isoTime(credential.refreshedAt),
  connections: credential.connections,
  created_at: iso(credential.createdAt),
  updated_at: iso(credential.updatedAt),
});

export function explanationJson({ state, sentence, nextRunAt }: Explanation) {
  return { state, sentence, next_run_at: isoTime(nextRunAt) };
}

export function eventJson({ at, kind, actor, keyId, reason, jobId }: ConnectionEvent) {
  return {
    at: isoTime(at),
    kind,
    actor,
    key_id: keyId ?? null,
    reason: reason ?? null,
    job_id: jobId ?? null,
  };
}

export const repairJson = ({ items, skipped, nextCursor }: RepairStep) => ({
  items: items.map(({ id, tenantId, provider, nextRunAt, jobIds }) => ({
    connection_id: id,
    tenant_id: tenantId,
    provider,
    next_run_at: nextRunAt ? { from: iso(nextRunAt.from), to: iso(nextRunAt.to) } : null,
    job_ids: jobIds,
  })),
  skipped,
  next_cursor: nextCursor ?? null,
});
