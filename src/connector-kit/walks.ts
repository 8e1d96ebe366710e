import { z } from 'zod';

/** Pagination that loses no items under concurrent changes and crashes. */

/** For lists sorted by change time, oldest first, with an inclusive `since`. */
export const ascendingCursor = z.object({
  since: z.string().optional(),
  /** Above 1 only while a full page shares one time. */
  page: z.number().int().positive().optional(),
  /** On the way back: where to continue. */
  resumeAt: z.string().optional(),
});
export type AscendingCursor = z.output<typeof ascendingCursor>;

/**
 * Continues at the last item's time: changed items move to the end and shift page numbers. While a whole page
 * shares one time, reads by page number to the end of that time and back, which finds items that shift up.
 */
export function ascend(
  cursor: AscendingCursor,
  { times, isFull }: { times: readonly string[]; isFull: boolean },
): { cursor: AscendingCursor; hasMore: boolean } {
  const { since, page = 1, resumeAt } = cursor;
  if (resumeAt !== undefined) return stepBack(since, page, resumeAt);
  const last = times.at(-1);
  const reached = last !== undefined && isLater(last, since) ? last : since;
  if (isFull && reached === since) return { cursor: { ...cursor, page: page + 1 }, hasMore: true };
  if (page === 1 || reached === undefined) return { cursor: sinceOf(reached), hasMore: isFull };
  return { cursor: { ...sinceOf(since), page: page - 1, resumeAt: reached }, hasMore: true };
}

function stepBack(since: string | undefined, page: number, resumeAt: string) {
  if (page > 1) return { cursor: { ...sinceOf(since), page: page - 1, resumeAt }, hasMore: true };
  return { cursor: { since: resumeAt }, hasMore: isLater(resumeAt, since) };
}

const sinceOf = (since: string | undefined): AscendingCursor => (since === undefined ? {} : { since });

function isLater(time: string, other: string | undefined): boolean {
  return other === undefined || Date.parse(time) > Date.parse(other);
}

/** For lists sorted newest first. */
export const descendingCursor = z.object({
  /** Of the last complete walk. */
  watermark: z.string().optional(),
  /** The next page, and the watermark after the walk. */
  walk: z.object({ page: z.string(), newest: z.string().optional() }).optional(),
});
export type DescendingCursor = z.output<typeof descendingCursor>;

/** The watermark advances only at the end, or a crash would skip the remaining pages. */
export function descend(
  { watermark, walk }: DescendingCursor,
  { newest, nextPage }: { newest: string | undefined; nextPage: string | undefined },
): { cursor: DescendingCursor; hasMore: boolean } {
  const first = walk ? walk.newest : newest;
  if (nextPage !== undefined)
    return {
      cursor: {
        ...(watermark !== undefined && { watermark }),
        walk: { page: nextPage, ...(first !== undefined && { newest: first }) },
      },
      hasMore: true,
    };
  const reached = first ?? watermark;
  return { cursor: reached === undefined ? {} : { watermark: reached }, hasMore: false };
}

/** Shifts the query for late items, not the watermark. */
export function lookback(time: string, seconds: number): string;
export function lookback(time: string | undefined, seconds: number): string | undefined;
export function lookback(time: string | undefined, seconds: number): string | undefined {
  if (time === undefined || seconds === 0) return time;
  return new Date(Date.parse(time) - seconds * 1000).toISOString();
}
