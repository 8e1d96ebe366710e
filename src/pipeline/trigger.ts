import type { Caller } from '../caller/caller.ts';
import type { JobType } from '../contract/connector.ts';
import { invalidArgument } from '../contract/errors.ts';
import type { LockedConnection, Owner } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';
import { bringAllForward, bringForward, markHinted, pendingJobs, requestRerun } from '../store/jobs.ts';
import { queueJobs } from '../store/settlements.ts';
import { requireWhole } from '../values/arguments.ts';
import { priorities } from '../values/limits.ts';
import type { TriggerResult } from './model.ts';

/** As scheduled: many hints of a provider must not delay other connections. */
export const hintPriority = 0;

/** Of the rerun that a trigger or a hint requested during the run. */
export const rerunPriorityOf = ({
  rerun_priority: requested,
  hinted,
}: {
  rerun_priority: number | null;
  hinted: boolean;
}) => requested ?? (hinted ? hintPriority : undefined);

/** Ahead of scheduled jobs (0). */
export const triggerPriority = 10;

/** Tenants cannot outrank other tenants' manual triggers. */
export const maxPriorityOf = ({ tenantId }: Caller) =>
  tenantId === undefined ? priorities.max : triggerPriority;

export function requirePriority(caller: Caller, priority: number): void {
  requireWhole('priority', priority, priorities.min, priorities.max);
  const max = maxPriorityOf(caller);
  if (priority > max)
    throw invalidArgument(
      {
        field: 'priority',
        expected: `at most ${max} for a tenant`,
        value: String(priority),
        hint: 'Use a lower priority, or an operator key.',
      },
      'FORBIDDEN',
    );
}

export interface Trigger {
  type: JobType;
  priority: number;
  newId: () => string;
}

/** The caller holds the connection lock. */
export async function syncNow(
  tx: Queryable,
  row: LockedConnection,
  now: Date,
  { type, priority, newId }: Trigger,
): Promise<TriggerResult> {
  const pending = (await pendingJobs(tx, row.id, 'FOR UPDATE')).find((job) => job.job_type === type);
  if (pending?.status === 'running') {
    await requestRerun(tx, pending.id, priority);
    return { jobId: pending.id, effect: 'follows' };
  }
  if (pending) {
    await bringForward(tx, now, pending.id, priority);
    return { jobId: pending.id, effect: 'brought_forward' };
  }
  const jobId = newId();
  const { tenant_id: tenantId, provider_slug: providerSlug, id: connectionId } = row;
  const job = { id: jobId, tenantId, providerSlug, connectionId, type, priority };
  await queueJobs(tx, now, [{ ...job, cursor: null, retryAfter: null }]);
  return { jobId, effect: 'queued' };
}

/** With a fixed number of statements. */
export async function syncAllNow(
  tx: Queryable,
  rows: readonly Owner[],
  now: Date,
  { priority, newId }: Pick<Trigger, 'priority' | 'newId'>,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  const pending = await bringAllForward(tx, now, ids, priority);
  await insertFirst(tx, rows, now, { pending, priority, newId, hinted: false });
}

/**
 * Reruns after the current walk, which may miss the change. Jobs in backoff keep their pause: hints must not
 * override a rate limit.
 */
export async function hintAll(
  tx: Queryable,
  rows: readonly Owner[],
  now: Date,
  newId: () => string,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  const pending = await markHinted(tx, now, ids, hintPriority);
  await insertFirst(tx, rows, now, { pending, priority: hintPriority, newId, hinted: true });
}

async function insertFirst(
  tx: Queryable,
  rows: readonly Owner[],
  now: Date,
  {
    pending,
    priority,
    newId,
    hinted,
  }: { pending: ReadonlySet<string>; priority: number; newId: () => string; hinted: boolean },
): Promise<void> {
  const jobs = rows
    .filter(({ id }) => !pending.has(id))
    .map(({ id, tenant_id: tenantId, provider_slug: providerSlug }) => ({
      ...{ id: newId(), tenantId, providerSlug, connectionId: id },
      ...{ type: 'incremental' as const, priority, cursor: null, retryAfter: null, hinted },
    }));
  await queueJobs(tx, now, jobs);
}
