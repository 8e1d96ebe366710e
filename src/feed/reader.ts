import type { Database } from '../store/database.ts';
import {
  type Batch,
  type FeedLook,
  type FeedPage,
  type FeedPlace,
  type FeedRow,
  lookAtFeed,
  positionFromEnd,
  signalsOfBatches,
  startOfFeed,
} from '../store/feed.ts';
import { deleted, placeAtStart, proofOf, verified } from './proof.ts';

/** Batches looked at in one step. */
const batchesPerStep = 50;
/** How far `latest` looks back for a transaction that is still committing: they pass in half a second at 2,000 a second. */
const batchesLookedBack = 1000;

/** `more` may be read at once; `committing`: a transaction is just ending, look again in a moment; `end`: wait. */
export type Outlook = 'more' | 'committing' | 'end';

/** A signal, and the place behind it. */
export interface FeedItem {
  row: FeedRow;
  place: FeedPlace;
}

export interface Step {
  items: FeedItem[];
  /** Where the next step goes on. */
  next: FeedPlace;
  outlook: Outlook;
}

export type FeedReader = ReturnType<typeof createFeedReader>;

/**
 * Reads the feed in the order of commits, and never past a place where something may still appear.
 *
 * Positions are given while a transaction commits, so one that is missing belongs to a transaction that is committing at
 * this moment, or to one that failed while it did, or to nobody (Postgres skips some after a crash). It is waited for
 * until every transaction that had begun when it was first missed has ended: if it is not there then, it never will be.
 */
export function createFeedReader() {
  /**
   * By the batch behind some missing positions: everything that had begun when they were missed is below this. Not by position: after a
   * restore other transactions have the same ones.
   */
  const missed = new Map<string, bigint>();

  function readable(from: number, { batches, begunBelow, allEndedBelow }: FeedLook): Batch[] {
    let expected = from;
    for (const [i, { position, batch }] of batches.entries()) {
      if (position > expected) {
        const before = missed.get(batch) ?? begunBelow;
        // Transaction ids start lower on a server that was restored from a dump.
        const begun = before < begunBelow ? before : begunBelow;
        missed.set(batch, begun);
        if (allEndedBelow < begun) return batches.slice(0, i);
      }
      // Of batches below the start of the feed none is waited for.
      expected = Math.max(expected, position + 1);
    }
    return batches;
  }

  /** Many readers at different places may each have missed some; what is far behind all of them is not needed again. */
  function forget(): void {
    if (missed.size <= maxMissed) return;
    for (const batch of [...missed.keys()].slice(0, missed.size - maxMissed)) missed.delete(batch);
  }

  return {
    /**
     * Behind what can be seen, but before a transaction that may still commit: whoever begins here is handed some signals that
     * were there before, rather than none of one that comes later.
     */
    async latest(db: Database): Promise<FeedPlace> {
      const from = (await positionFromEnd(db, batchesLookedBack)) ?? 0;
      const look = await lookAtFeed(db, { from, reached: from, limit: batchesLookedBack });
      const { start } = look;
      const last = readable(Math.max(from, start.position + 1), look).at(-1);
      forget();
      return last && last.position > start.position
        ? { position: last.position, proof: proofOf(last.batch, start.epoch) }
        : placeAtStart(start);
    },

    async step(db: Database, given: FeedPlace, wanted: Omit<FeedPage, 'within'>): Promise<Step> {
      const from = given.within ? given.position : given.position + 1;
      const look = await lookAtFeed(db, { from, reached: given.position, limit: batchesPerStep });
      const place = verified(given, look);
      const batches = readable(from, look);
      forget();
      const outlook: Outlook =
        batches.length < look.batches.length
          ? 'committing'
          : batches.length === batchesPerStep
            ? 'more'
            : 'end';
      const [first, last] = [batches[0], batches.at(-1)];
      if (!first || !last) return { items: [], next: place, outlook };
      const rows = await signalsOfBatches(db, batches, { ...wanted, within: place.within });
      // They may have been deleted since they were looked at: then what was just read is not all there was.
      if (first.position <= (await startOfFeed(db)).position) throw deleted();
      const { epoch } = look.start;
      const proofs = new Map(batches.map(({ position, batch }) => [position, proofOf(batch, epoch)]));
      const proven = (at: FeedPlace): FeedPlace => ({ ...at, proof: proofs.get(at.position) });
      const items = rows.map((row) => ({ row, place: proven(placeBehind(row)) }));
      const lastItem = items.at(-1);
      if (lastItem?.row.followed) return { items, next: lastItem.place, outlook: 'more' };
      return { items, next: proven({ position: last.position }), outlook };
    },
  };
}

const maxMissed = 1000;

/** Within its batch only where more of that follows: whoever has read all of it misses nothing when it is deleted. */
function placeBehind({ position, next_position, tenant_id: tenantId, id }: FeedRow): FeedPlace {
  return next_position === position ? { position, within: { tenantId, id } } : { position };
}
