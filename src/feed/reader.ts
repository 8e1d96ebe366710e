import type { Database } from '../store/database.ts';
import {
  type Batch,
  type FeedPage,
  type FeedPlace,
  type FeedRow,
  type FeedSnapshot,
  positionFromEnd,
  readFeedSnapshot,
  signalsOfBatches,
  startOfFeed,
} from '../store/feed.ts';
import { deleted, placeAtStart, proofOf, verified } from './proof.ts';

const batchesPerStep = 50;
/** For `latest`: 0.5 s at 2,000 commits a second. */
const latestLookBack = 1000;

/** `committing`: a gap may fill, poll soon. `end`: wait for new positions. */
export type Outlook = 'more' | 'committing' | 'end';

export interface FeedItem {
  row: FeedRow;
  /** After this signal. */
  place: FeedPlace;
}

interface Step {
  items: FeedItem[];
  next: FeedPlace;
  outlook: Outlook;
}

export interface FeedReader {
  /** Before committing transactions: repeats a few signals, misses none. */
  latest(db: Database): Promise<FeedPlace>;
  step(db: Database, after: FeedPlace, page: Omit<FeedPage, 'within'>): Promise<Step>;
}

/**
 * Stops at gaps that may still fill: a transaction gets its position while it commits. A missing one belongs
 * to a committing or failed transaction, or to none (sequences skip values after a crash). It is permanent
 * once all transactions that ran when it was first seen have ended.
 */
export function createFeedReader(): FeedReader {
  /** Transaction id bounds by the batch after the gap: a restore reuses positions. */
  const gaps = new Map<string, bigint>();

  function readable(from: number, { batches, begunBelow, allEndedBelow }: FeedSnapshot): Batch[] {
    let expected = from;
    for (const [i, { position, batch }] of batches.entries()) {
      if (position > expected) {
        const firstSeen = gaps.get(batch) ?? begunBelow;
        // A restore from a dump lowers ids.
        const begun = firstSeen < begunBelow ? firstSeen : begunBelow;
        gaps.set(batch, begun);
        if (allEndedBelow < begun) return batches.slice(0, i);
      }
      // Below the feed's start, gaps do not matter.
      expected = Math.max(expected, position + 1);
    }
    return batches;
  }

  /** Dropped gaps are waited for again. */
  function trimGaps(): void {
    if (gaps.size <= maxGaps) return;
    for (const batch of [...gaps.keys()].slice(0, gaps.size - maxGaps)) gaps.delete(batch);
  }

  return {
    async latest(db) {
      const from = (await positionFromEnd(db, latestLookBack)) ?? 0;
      const look = await readFeedSnapshot(db, { from, reached: from, limit: latestLookBack });
      const { start } = look;
      const last = readable(Math.max(from, start.position + 1), look).at(-1);
      trimGaps();
      return last && last.position > start.position
        ? { position: last.position, proof: proofOf(last.batch, start.epoch) }
        : placeAtStart(start);
    },

    async step(db, after, page) {
      const from = after.within ? after.position : after.position + 1;
      const look = await readFeedSnapshot(db, { from, reached: after.position, limit: batchesPerStep });
      const place = verified(after, look);
      const batches = readable(from, look);
      trimGaps();
      const outlook: Outlook =
        batches.length < look.batches.length
          ? 'committing'
          : batches.length === batchesPerStep
            ? 'more'
            : 'end';
      const [first, last] = [batches[0], batches.at(-1)];
      if (!first || !last) return { items: [], next: place, outlook };
      const rows = await signalsOfBatches(db, batches, { ...page, within: place.within });
      // The janitor may have deleted some.
      if (first.position <= (await startOfFeed(db)).position) throw deleted();
      const { epoch } = look.start;
      const proofs = new Map(batches.map(({ position, batch }) => [position, proofOf(batch, epoch)]));
      const proven = (at: FeedPlace): FeedPlace => ({ ...at, proof: proofs.get(at.position) });
      const items = rows.map((row) => ({ row, place: proven(placeBehind(row)) }));
      const lastItem = items.at(-1);
      if (lastItem?.row.has_more) return { items, next: lastItem.place, outlook: 'more' };
      return { items, next: proven({ position: last.position }), outlook };
    },
  };
}

const maxGaps = 1000;

/** `within` if more of the batch follows. */
function placeBehind({ position, next_position, tenant_id: tenantId, id }: FeedRow): FeedPlace {
  return next_position === position ? { position, within: { tenantId, id } } : { position };
}
