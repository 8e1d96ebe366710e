import type { Queryable } from '../store/database.ts';
import { correctOwners, type ForeignRow } from '../store/job-owners.ts';
import { wakeExecutors } from '../store/wake.ts';
import type { ClaimedJob } from './claim.ts';

/** EXE-13: before the correction. */
export type ForeignJob = Pick<ClaimedJob, 'id' | 'connectionId' | 'tenantId' | 'providerSlug'>;

/** EXE-13: later claims find them in their lane. Returns the originals. */
export async function returnToOwners(
  tx: Queryable,
  now: Date,
  foreign: readonly ForeignRow[],
): Promise<ForeignJob[]> {
  if (foreign.length === 0) return [];
  await correctOwners(
    tx,
    now,
    foreign.map((row) => row.id),
  );
  await wakeExecutors(tx);
  return foreign.map(foreignJob);
}

const foreignJob = (row: ForeignRow): ForeignJob => ({
  id: row.id,
  connectionId: row.connection_id,
  tenantId: row.tenant_id,
  providerSlug: row.provider_slug,
});
