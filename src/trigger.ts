import type { JobType } from './connector.ts';
import type { LockedConnection } from './store/connections.ts';
import type { Queryable } from './store/database.ts';
import { askForRerun, bringForward, markHinted, pendingJobs } from './store/jobs.ts';
import { insertFollowUps } from './store/settlements.ts';

/**
 * Of a job that a provider's hint queues: that of all others. Where slots are free it starts at once anyway; where they are
 * not, whoever sends most must not push back everybody else's runs.
 */
export const hintPriority = 0;

/** What a trigger did. */
export interface Triggered {
  /** The job that runs because of it; the running one if another is to follow it. */
  jobId: string;
  /** `queued` anew, one that waited `brought forward`, or one that `follows` the one that is running. */
  effect: 'queued' | 'brought forward' | 'follows';
}

export interface Trigger {
  type: JobType;
  priority: number;
  newId: () => string;
  /**
   * It was the provider who asked. Then the run that follows begins after the whole walk under way, which need not see
   * what changed; and a job that backs off is left alone, or a provider that wants fewer requests would itself ask for more.
   */
  isHint?: boolean;
}

/** Has a connection, which is locked, synced now: one that waits is brought forward, one that runs is followed by one more. */
export async function syncNow(
  tx: Queryable,
  row: LockedConnection,
  now: Date,
  { type, priority, newId, isHint = false }: Trigger,
): Promise<Triggered> {
  const pending = (await pendingJobs(tx, row.id, 'FOR UPDATE')).find((job) => job.job_type === type);
  if (pending && isHint) await markHinted(tx, pending.id);
  if (pending?.status === 'running') {
    if (!isHint) await askForRerun(tx, pending.id, priority);
    return { jobId: pending.id, effect: 'follows' };
  }
  if (pending) {
    const isLeftAlone = isHint && pending.retry_after !== null && pending.retry_after > now;
    if (!isLeftAlone) await bringForward(tx, now, pending.id, priority);
    return { jobId: pending.id, effect: 'brought forward' };
  }
  const jobId = newId();
  const { tenant_id: tenantId, provider_slug: providerSlug, id: connectionId } = row;
  const job = { id: jobId, tenantId, providerSlug, connectionId, type, priority, hinted: isHint };
  await insertFollowUps(tx, now, [{ ...job, cursor: null, retryAfter: null }]);
  return { jobId, effect: 'queued' };
}
