import { cursorTo, keyOf, uuidPart } from '../page.ts';
import type { FeedPlace } from '../store/feed.ts';

const positionPart = /^\d{1,15}$/;

export function feedCursor({ position, within }: FeedPlace): string {
  return within
    ? cursorTo('within', [String(position), within.tenantId, within.id])
    : cursorTo('feed', [String(position)]);
}

export function feedPlace(cursor: string): FeedPlace {
  // The text of a cursor begins with the name of its kind, and so does its encoding.
  const isWithin = cursor.startsWith(cursorTo('within', []).slice(0, 12));
  const [position, tenantId, id] = isWithin
    ? (keyOf('within', cursor, [positionPart, uuidPart, uuidPart]) ?? [])
    : (keyOf('feed', cursor, [positionPart]) ?? []);
  return {
    position: Number(position),
    within: tenantId === undefined || id === undefined ? undefined : { tenantId, id },
  };
}
