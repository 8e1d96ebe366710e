import { PermanentError } from '../../connector-kit/index.ts';
import type { CursorDescription, StreamDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';
import type { StreamCursor, Walk } from './stream-cursor.ts';
import { namesIn, parseTemplate, textsIn } from './templates.ts';
import { compare, isTime, later, type Position, parsePosition, sent, toPosition } from './times.ts';

/** How far a walk has come, and what the watermark becomes. */

/**
 * Whether each page is a query of its own, from where the last one ended: possible where the list is sorted by what is
 * asked for. Items that change meanwhile move to the end, and cannot push others out of sight. With a lookback it would
 * read the same window again for each page.
 */
export function isRequeried({ request, cursor, pagination }: StreamDescription): boolean {
  if (cursor?.order !== 'ascending' || cursor.lookbackSeconds || (pagination?.type ?? 'none') === 'none')
    return false;
  return isSent({ request, cursor });
}

/** Whether the request says from where. */
export function isSent({ request, cursor }: Pick<StreamDescription, 'request' | 'cursor'>): boolean {
  const texts = textsIn([request.path, request.query, request.headers, request.json]).map(({ text }) => text);
  return (
    cursor?.parameter !== undefined || texts.some((text) => namesIn(parseTemplate(text)).includes('cursor'))
  );
}

export function startOf({ start, format = 'iso' }: CursorDescription, nowMs: number): Position | undefined {
  if (start === undefined) return undefined;
  if (typeof start === 'object') return new Date(nowMs - start.daysAgo * 86_400_000).toISOString();
  return parsePosition(format, start);
}

export function positionsOf(
  name: string,
  cursor: CursorDescription,
  records: readonly unknown[],
): Position[] {
  const path = pathOf(cursor.path);
  return records.flatMap((record, i) => toPosition(cursor, valueAt(record, path), placeOf(name, i)) ?? []);
}

/** A list that is not sorted as described would be given up too soon: better to say so than to lose what follows. */
export function requireOrder(
  name: string,
  { order, path, format }: CursorDescription,
  positions: readonly Position[],
): void {
  if (order === 'none' || format === 'text') return;
  const at = positions.findIndex((position, i) => {
    const before = positions[i - 1];
    return (
      before !== undefined &&
      (order === 'ascending' ? compare(position, before) < 0 : compare(position, before) > 0)
    );
  });
  if (at === -1) return;
  throw new PermanentError(
    `${name} is not sorted by ${path}, ${order}: ${positions[at]} comes after ${positions[at - 1]}. Ask the provider to sort it, or describe cursor.order: none.`,
  );
}

/** Back to here a list that comes newest first is read. */
export function limitOf(
  { watermark }: StreamCursor,
  cursor: CursorDescription | undefined,
): Position | undefined {
  if (cursor?.order !== 'descending' || watermark === undefined) return undefined;
  if (!isTime(cursor)) return watermark;
  return new Date(Date.parse(String(watermark)) - (cursor.lookbackSeconds ?? 0) * 1000).toISOString();
}

export const isBefore = (position: Position | undefined, limit: Position | undefined) =>
  position !== undefined && limit !== undefined && compare(position, limit) < 0;

/**
 * The newest of the first page, where the order says nothing or that it is the newest of all: whatever changes after that
 * page was read is later, so the next walk finds it. The newest of all pages would hide what changed on one of them while
 * another was read. Only a list that comes oldest first shows such changes at its end.
 */
export function reachedBy(
  walk: Walk,
  cursor: CursorDescription | undefined,
  positions: readonly Position[],
): Position | undefined {
  const newest = () => positions.reduce<Position | undefined>((latest, one) => later(latest, one), undefined);
  if (cursor?.order !== 'ascending') return walk.reached ?? newest();
  if (cursor.format === 'text') return positions.at(-1) ?? walk.reached;
  return later(walk.reached, newest());
}

/**
 * The watermark moves when a walk has come to its end, never back, and never into the future: a record dated ahead would
 * hide all that come until then.
 */
export function ended(
  state: StreamCursor,
  walk: Walk,
  cursor: CursorDescription | undefined,
  reached: Position | undefined,
): StreamCursor {
  const { walk: _over, restartedAt: _then, ...rest } = state;
  if (reached === undefined || !cursor) return rest;
  const isAhead = isTime(cursor) && compare(reached, walk.startedAt) > 0;
  const isOrderUnknown = cursor.format === 'text' && cursor.order !== 'none';
  const watermark = isOrderUnknown ? reached : later(isAhead ? walk.startedAt : reached, state.watermark);
  return { ...rest, ...(watermark !== undefined && { watermark }) };
}

/** Where the next query begins, if that is another query than this one. */
export function movedTo(
  walk: Walk,
  cursor: CursorDescription,
  positions: readonly Position[],
): Position | undefined {
  const last = positions.at(-1);
  if (last === undefined) return undefined;
  const hasMoved = walk.from === undefined || sent(cursor, last) !== sent(cursor, walk.from);
  return hasMoved && (walk.from === undefined || cursor.format === 'text' || compare(last, walk.from) > 0)
    ? last
    : undefined;
}

export const placeOf = (name: string, i: number): string => `${name}, record ${i + 1} of the page`;
