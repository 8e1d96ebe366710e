import type { Queryable } from '../store/database.ts';
import type { FeedPlace } from '../store/feed.ts';
import {
  deleteBatches,
  deleteOldSignals,
  firstSignals,
  moveStartOfFeed,
  oldBatches,
} from '../store/old-signals.ts';

interface Pruned {
  deleted: number;
  isMore: boolean;
  /** Skips dead index entries. */
  next: FeedPlace;
}

/**
 * Large batches take several rounds. The feed's start moves past them first: no reader sees a part; the row
 * is deleted last.
 */
export async function pruneSignals(
  tx: Queryable,
  place: FeedPlace,
  { cutoff, limit }: { cutoff: Date; limit: number },
): Promise<Pruned> {
  const batches = await oldBatches(tx, { from: place.position, cutoff, limit });
  const [first, last] = [batches[0], batches.at(-1)];
  if (!first || !last) return { deleted: 0, isMore: false, next: place };

  const within = first.position === place.position ? place.within : undefined;
  const signals = await firstSignals(tx, batches, { within, limit });
  const cut = signals.length === limit ? signals.at(-1) : undefined;
  await moveStartOfFeed(tx, cut?.position ?? last.position);
  const deleted = await deleteOldSignals(tx, signals);
  const isMore = cut !== undefined || batches.length === limit;
  // The others are locked: later.
  if (deleted < signals.length) return { deleted, isMore: isMore && deleted > 0, next: place };

  const done = cut ? batches.filter(({ position }) => position < cut.position) : batches;
  await deleteBatches(tx, done);
  const next: FeedPlace = cut
    ? { position: cut.position, within: { tenantId: cut.tenant_id, id: cut.id } }
    : { position: last.position };
  return { deleted, isMore, next };
}
