import { z } from 'zod';

/** Pagination that loses no items under concurrent changes and crashes. */

/** For lists sorted by change time, oldest first, with an inclusive `since`. */
export const ascendingCursor = z.object({
  since: z.string().optional(),
  /** Above 1 only while more items than fit on a page share one time. */
  page: z.number().int().positive().optional(),
  /** On the way back through such pages: where to continue afterwards. */
  resumeAt: z.string().optional(),
});
export type AscendingCursor = z.output<typeof ascendingCursor>;

/**
 * Continues at the time of the last item, because changed items move to the end and shift page numbers. While
 * a whole page shares one time, reads by page number, up to the end of that time and back down again: items
 * that shift up across a page boundary are found on the way back.
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
  /** Newest item of the last complete walk. */
  watermark: z.string().optional(),
  /** Walk in progress: its next page, and the watermark after it. */
  walk: z.object({ page: z.string(), newest: z.string().optional() }).optional(),
});
export type DescendingCursor = z.output<typeof descendingCursor>;

/** Advances the watermark only at the end of a walk: otherwise a crash would skip the remaining pages. */
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
  // An empty walk keeps the watermark.
  const reached = first ?? watermark;
  return { cursor: reached === undefined ? {} : { watermark: reached }, hasMore: false };
}

/** Shifts the query back for late items; the watermark does not move. */
export function lookback(time: string, seconds: number): string;
export function lookback(time: string | undefined, seconds: number): string | undefined;
export function lookback(time: string | undefined, seconds: number): string | undefined {
  if (time === undefined || seconds === 0) return time;
  return new Date(Date.parse(time) - seconds * 1000).toISOString();
}
