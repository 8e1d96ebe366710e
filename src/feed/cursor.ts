import { cursorTo, parseKey, uuidPart } from '../caller/keyset.ts';
import { invalidArgument } from '../contract/errors.ts';
import type { FeedPlace } from '../store/feed.ts';
import { show } from '../values/arguments.ts';

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
  const feed = parseKey('feed', cursor, [positionPart], proofParts);
  if (feed) {
    const [position, ...proof] = feed;
    return { position: Number(position), proof: proofIn(proof) };
  }
  const within = parseKey('within', cursor, [positionPart, uuidPart, uuidPart], proofParts);
  if (!within)
    throw invalidArgument({
      field: 'after',
      expected: 'beginning, latest or a cursor of the feed',
      value: show(cursor),
    });
  const [position, tenantId = '', id = '', ...proof] = within;
  return { position: Number(position), within: { tenantId, id }, proof: proofIn(proof) };
}

const proofIn = ([epoch, mark]: string[]): FeedPlace['proof'] =>
  epoch === undefined || mark === undefined ? undefined : { epoch: Number(epoch), mark };
