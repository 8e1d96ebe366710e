import { SynclineError } from '../errors.ts';
import type { Database } from '../store/database.ts';
import {
  type Batch,
  type FeedLook,
  type FeedPlace,
  type FeedRow,
  lookAtFeed,
  positionFromEnd,
  signalsOfBatches,
  startOfFeed,
} from '../store/feed.ts';
import type { SignalFilter } from '../store/signals.ts';

/** Batches looked at in one step: with the most that a page holds from each, still few megabytes. */
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
  /** By the last of some missing positions: everything that had begun when they were missed is below this. */
  const missed = new Map<number, bigint>();

  function readable(from: number, { batches, begunBelow, allEndedBelow }: FeedLook): Batch[] {
    let expected = from;
    for (const [i, { position }] of batches.entries()) {
      if (position > expected) {
        const gap = position - 1;
        const begun = missed.get(gap) ?? begunBelow;
        missed.set(gap, begun);
        if (allEndedBelow < begun) return batches.slice(0, i);
      }
      expected = position + 1;
    }
    return batches;
  }

  /** Many readers at different places may each have missed some; what is far behind all of them is not needed again. */
  function forget(): void {
    if (missed.size <= mostMissed) return;
    for (const gap of [...missed.keys()].slice(0, missed.size - mostMissed)) missed.delete(gap);
  }

  return {
    /**
     * Behind what can be seen, but before a transaction that may still commit: whoever begins here is handed some signals that
     * were there before, rather than none of one that comes later.
     */
    async latest(db: Database): Promise<FeedPlace> {
      const from = (await positionFromEnd(db, batchesLookedBack)) ?? 0;
      const look = await lookAtFeed(db, from, batchesLookedBack);
      const last = readable(Math.max(from, look.start + 1), look).at(-1);
      forget();
      return { position: Math.max(look.start, last?.position ?? 0) };
    },

    async step(db: Database, place: FeedPlace, filter: SignalFilter, limit: number): Promise<Step> {
      const from = place.within ? place.position : place.position + 1;
      const look = await lookAtFeed(db, from, batchesPerStep);
      if (from <= look.start) throw expired();
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
      // One more than asked for tells whether the last one ends its batch.
      const rows = await signalsOfBatches(db, batches, { within: place.within, filter, limit: limit + 1 });
      // They may have been deleted since they were looked at: then what was just read is not all there was.
      if (first.position <= (await startOfFeed(db))) throw expired();
      const items = rows.slice(0, limit).map((row, i) => ({ row, place: placeBehind(row, rows[i + 1]) }));
      const lastItem = items.at(-1);
      if (lastItem && rows.length > limit) return { items, next: lastItem.place, outlook: 'more' };
      return { items, next: { position: last.position }, outlook };
    },
  };
}

const mostMissed = 1000;

const expired = () =>
  new SynclineError('EXPIRED', 'What comes next in the feed is older than signals are kept.', {
    hint: 'Read from the beginning again (move a consumer there first), or keep signals longer (retention.signalsDays).',
  });

/** Within its batch only where more of that follows: whoever has read all of it misses nothing when it is deleted. */
function placeBehind({ position, tenant_id: tenantId, id }: FeedRow, next: FeedRow | undefined): FeedPlace {
  return next?.position === position ? { position, within: { tenantId, id } } : { position };
}
