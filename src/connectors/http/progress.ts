import { PermanentError } from '../../connector-kit/index.ts';
import type { CursorDescription, StreamDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';
import type { StreamCursor, Walk } from './stream-cursor.ts';
import { namesIn, parseTemplate, textsIn } from './templates.ts';
import { compare, formatPosition, isTime, later, type Position, parsePosition, toPosition } from './times.ts';

/** Safe for ascending lists: changes move to the end. Every page would reread a lookback. */
export function isQueriedPerPage({ request, cursor, pagination }: StreamDescription): boolean {
  if (cursor?.order !== 'ascending' || cursor.lookbackSeconds || (pagination?.type ?? 'none') === 'none')
    return false;
  return isSent({ request, cursor });
}

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

/** In an unsorted list, a walk would lose records. */
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
    `${name} is not sorted by ${path}, ${order}: ${positions[at]} comes after ${positions[at - 1]}. ` +
      'Sort it in the request, or set cursor.order: none.',
  );
}

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

/** From the first page unless ascending: later pages could hide changes on earlier ones. */
export function reachedBy(
  walk: Walk,
  cursor: CursorDescription | undefined,
  positions: readonly Position[],
): Position | undefined {
  const newest = () =>
    positions.reduce<Position | undefined>((latest, position) => later(latest, position), undefined);
  if (cursor?.order !== 'ascending') return walk.reached ?? newest();
  if (cursor.format === 'text') return positions.at(-1) ?? walk.reached;
  return later(walk.reached, newest());
}

/** Never backwards, nor into the future, which would hide records until then. */
export function finishWalk(
  state: StreamCursor,
  walk: Walk,
  cursor: CursorDescription | undefined,
  reached: Position | undefined,
): StreamCursor {
  const { walk: _over, restartedAt: _then, ...rest } = state;
  if (reached === undefined || !cursor) return rest;
  const isFuture = isTime(cursor) && compare(reached, walk.startedAt) > 0;
  const isOrderUnknown = cursor.format === 'text' && cursor.order !== 'none';
  const watermark = isOrderUnknown ? reached : later(isFuture ? walk.startedAt : reached, state.watermark);
  return { ...rest, ...(watermark !== undefined && { watermark }) };
}

/** Undefined if it is the same query. */
export function nextQueryStart(
  walk: Walk,
  cursor: CursorDescription,
  positions: readonly Position[],
): Position | undefined {
  const last = positions.at(-1);
  if (last === undefined) return undefined;
  const hasMoved =
    walk.from === undefined || formatPosition(cursor, last) !== formatPosition(cursor, walk.from);
  return hasMoved && (walk.from === undefined || cursor.format === 'text' || compare(last, walk.from) > 0)
    ? last
    : undefined;
}

export const placeOf = (name: string, i: number): string => `${name}, record ${i + 1} of the page`;
