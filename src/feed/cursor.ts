import { cursorTo, keyOf, uuidPart } from '../caller/keyset.ts';
import type { FeedPlace } from '../store/feed.ts';

const positionPart = /^\d{1,15}$/;
/** Absent in cursors of earlier releases. */
const proofParts = [/^[1-9]\d{0,9}$/, /^([\w-]{8})?$/];

export function feedCursor({ position, within, proof }: FeedPlace): string {
  const proven = proof ? [String(proof.epoch), proof.mark] : [];
  return within
    ? cursorTo('within', [String(position), within.tenantId, within.id, ...proven])
    : cursorTo('feed', [String(position), ...proven]);
}

export function feedPlace(cursor: string): FeedPlace {
  // The text starts with its kind, so its base64 does.
  const isWithin = cursor.startsWith(cursorTo('within', []).slice(0, 12));
  if (!isWithin) {
    const [position, ...proof] = keyOf('feed', cursor, [positionPart], proofParts) ?? [];
    return { position: Number(position), proof: proofIn(proof) };
  }
  const [position, tenantId = '', id = '', ...proof] =
    keyOf('within', cursor, [positionPart, uuidPart, uuidPart], proofParts) ?? [];
  return { position: Number(position), within: { tenantId, id }, proof: proofIn(proof) };
}

const proofIn = ([epoch, mark]: string[]): FeedPlace['proof'] =>
  epoch === undefined || mark === undefined ? undefined : { epoch: Number(epoch), mark };
