import type { Queryable } from '../store/database.ts';
import { ageEdgesSeconds, bucketOf, type Edges, lagEdgesMs } from '../store/rollup-buckets.ts';
import { addRollups, type RollupWrite } from '../store/rollups.ts';
import { operatorId } from '../store/scope.ts';
import type { ClaimedJob } from './claim.ts';
import type { Settlement } from './commit.ts';

/** Concurrent transactions write different rows. */
const rollupSlots = 8;
const startOfMinute = (at: Date) => new Date(Math.floor(at.getTime() / 60_000) * 60_000);

/** Last: its row locks block other commits. */
export async function addStatistics(
  tx: Queryable,
  now: Date,
  random: number,
  rows: RollupWrite[],
): Promise<void> {
  await addRollups(tx, startOfMinute(now), Math.floor(random * rollupSlots), rows);
}

/** Per tenant and provider, and per provider. */
export function measure(
  settlements: readonly Settlement[],
  stored: ReadonlyMap<string, number>,
  now: Date,
): RollupWrite[] {
  const { rowOf, rows } = rowsByOwner();
  for (const { job, verdict } of settlements) {
    const lagMs = startLagMs(job);
    const dataAgeSeconds = verdict.outcome === 'succeeded' ? ageSeconds(job, now) : undefined;
    for (const tenantId of [operatorId, job.tenantId]) {
      const row = rowOf(tenantId, job.providerSlug);
      // A parked run is no attempt.
      if (verdict.error?.parked !== true) row[outcomeColumn[verdict.outcome]]++;
      row.signals += stored.get(job.id) ?? 0;
      count(row.lag, lagMs, lagEdgesMs);
      count(row.age, dataAgeSeconds, ageEdgesSeconds);
    }
  }
  return [...rows()];
}

/** Deliveries have no due time: no start lag. */
export function measureReceived(
  jobs: readonly { tenantId: string; providerSlug: string; signals: number }[],
): RollupWrite[] {
  const { rowOf, rows } = rowsByOwner();
  for (const { tenantId, providerSlug, signals } of jobs) {
    for (const id of [operatorId, tenantId]) {
      const row = rowOf(id, providerSlug);
      row.succeeded++;
      row.signals += signals;
    }
  }
  return [...rows()];
}

export function measureFailed(jobs: readonly { tenantId: string; provider: string }[]): RollupWrite[] {
  const { rowOf, rows } = rowsByOwner();
  for (const { tenantId, provider } of jobs)
    for (const id of [operatorId, tenantId]) rowOf(id, provider).failed++;
  return [...rows()];
}

function rowsByOwner() {
  const rows = new Map<string, RollupWrite>();
  const rowOf = (tenantId: string, provider: string): RollupWrite => {
    const key = `${tenantId} ${provider}`;
    let row = rows.get(key);
    if (!row) {
      row = emptyRow(tenantId, provider);
      rows.set(key, row);
    }
    return row;
  };
  return { rowOf, rows: () => rows.values() };
}

const outcomeColumn = { succeeded: 'succeeded', failed: 'failed', requeued: 'retried' } as const;

function emptyRow(tenantId: string, provider: string): RollupWrite {
  const zeros = (edges: Edges) => new Array<number>(edges.length + 1).fill(0);
  const counts = { succeeded: 0, failed: 0, retried: 0, signals: 0 };
  return { tenantId, provider, ...counts, lag: zeros(lagEdgesMs), age: zeros(ageEdgesSeconds) };
}

function count(histogram: number[], value: number | undefined, edges: Edges): void {
  if (value === undefined) return;
  const bucket = bucketOf(value, edges);
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

/** First attempts: retries store no due time. */
function startLagMs({
  attempts,
  wasParked,
  isSuspect,
  startedAt,
  scheduledAt,
}: ClaimedJob): number | undefined {
  return attempts === 0 && !wasParked && !isSuspect
    ? Math.max(0, startedAt.getTime() - scheduledAt.getTime())
    : undefined;
}

/** First pages: later ones would record near-zero ages. */
function ageSeconds({ type, cursor, lastEndedAt }: ClaimedJob, now: Date): number | undefined {
  if (type !== 'incremental' || cursor !== undefined || lastEndedAt === undefined) return undefined;
  return Math.max(0, now.getTime() - lastEndedAt.getTime()) / 1000;
}
