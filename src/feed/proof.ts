import { createHash } from 'node:crypto';
import { SynclineError } from '../contract/errors.ts';
import type { FeedPlace, FeedProof, FeedSnapshot, FeedStart } from '../store/feed.ts';

/** 48 bits; a restore reuses positions. */
const markLength = 8;

export const proofOf = (batch: string | null, epoch: number): FeedProof => ({
  epoch,
  mark: batch === null ? '' : createHash('sha256').update(batch).digest('base64url').slice(0, markLength),
});

export const placeAtStart = ({ position, batch, epoch }: FeedStart): FeedPlace => ({
  position,
  proof: proofOf(batch, epoch),
});

/**
 * Throws `EXPIRED` unless the feed has everything after the place. A position names a batch that was read, or
 * the feed's start; without that batch, the database was restored.
 */
export function verified(place: FeedPlace, look: FeedSnapshot): FeedPlace {
  const { position, within, proof } = place;
  const { start, reached } = look;
  if ((within ? position : position + 1) <= start.position) throw deleted();
  if (!proof) return withProof(place, look);
  const batch = position === start.position ? start.batch : batchAt(position, reached);
  // Null: deleted by an earlier release.
  const isProven = batch !== undefined && (batch === null || proofOf(batch, start.epoch).mark === proof.mark);
  if (!isProven) throw lost(position);
  return place;
}

const batchAt = (position: number, reached: FeedSnapshot['reached']) =>
  reached?.position === position ? reached.batch : undefined;

/** Earlier releases wrote no proof. */
function withProof(place: FeedPlace, { start, reached, lastAssigned }: FeedSnapshot): FeedPlace {
  const { position, within } = place;
  if (position === start.position) return placeAtStart(start);
  const batch = batchAt(position, reached);
  if (batch !== undefined) return { ...place, proof: proofOf(batch, start.epoch) };
  if (within || position > lastAssigned) throw lost(position);
  // Earlier releases could start without a batch.
  return reached
    ? { position: reached.position, proof: proofOf(reached.batch, start.epoch) }
    : placeAtStart(start);
}

export const deleted = () =>
  new SynclineError(
    'EXPIRED',
    'The cursor is behind the retention window: the signals after it have been deleted.',
    { hint: 'Restart from `beginning` (move a consumer there first), or raise retention.signalsDays.' },
  );

const lost = (position: number) =>
  new SynclineError(
    'EXPIRED',
    `The cursor points to position ${position}, which does not exist in this feed: ` +
      'the database was restored or replaced after the cursor was issued.',
    {
      hint:
        'Restart from `beginning` to read all stored signals again, or from `latest` to read only new ones ' +
        '(move a consumer there first).',
    },
  );
