import { createHash } from 'node:crypto';
import { SynclineError } from '../contract/errors.ts';
import type { FeedLook, FeedPlace, FeedProof, FeedStart } from '../store/feed.ts';

/** 48 bits: enough to tell the batch at a position from another one that has the same position after a restore. */
const markLength = 8;

export const proofOf = (batch: string | null, epoch: number): FeedProof => ({
  epoch,
  mark: batch === null ? '' : createHash('sha256').update(batch).digest('base64url').slice(0, markLength),
});

/** The place at the start of the feed: behind everything that has been deleted. */
export const placeAtStart = ({ position, batch, epoch }: FeedStart): FeedPlace => ({
  position,
  proof: proofOf(batch, epoch),
});

/**
 * Returns the place if the feed still has everything that follows it, with a proof if it had none; throws `EXPIRED` otherwise. A position
 * always names a batch that was read, or the start of the feed, so a position without its batch belongs to a history that was lost.
 */
export function verified(place: FeedPlace, look: FeedLook): FeedPlace {
  const { position, within, proof } = place;
  const { start, reached } = look;
  if ((within ? position : position + 1) <= start.position) throw deleted();
  if (!proof) return withProof(place, look);
  const batch = position === start.position ? start.batch : batchAt(position, reached);
  // Without a known batch at the start nothing can be compared: it was deleted by an earlier release.
  const isProven = batch !== undefined && (batch === null || proofOf(batch, start.epoch).mark === proof.mark);
  if (!isProven) throw lost(position);
  return place;
}

const batchAt = (position: number, reached: FeedLook['reached']) =>
  reached?.position === position ? reached.batch : undefined;

/** Of a cursor of an earlier release, all that can be checked is that its position was assigned. */
function withProof(place: FeedPlace, { start, reached, lastAssigned }: FeedLook): FeedPlace {
  const { position, within } = place;
  if (position === start.position) return placeAtStart(start);
  const batch = batchAt(position, reached);
  if (batch !== undefined) return { ...place, proof: proofOf(batch, start.epoch) };
  if (within || position > lastAssigned) throw lost(position);
  // Earlier releases could begin at a position that no batch has. What came before is the batch below it.
  return reached
    ? { position: reached.position, proof: proofOf(reached.batch, start.epoch) }
    : placeAtStart(start);
}

export const deleted = () =>
  new SynclineError('EXPIRED', 'What comes next in the feed is older than signals are kept.', {
    hint: 'Read from the beginning again (move a consumer there first), or keep signals longer (retention.signalsDays).',
  });

const lost = (position: number) =>
  new SynclineError(
    'EXPIRED',
    `The cursor points to position ${position}, and this feed has no such commit there: the database was restored or replaced after the cursor was issued.`,
    {
      hint: 'Restart from `beginning` to read all stored signals again, or from `latest` to read only new ones (move a consumer there first).',
    },
  );
