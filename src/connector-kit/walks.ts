import { z } from 'zod';

/** How lists are walked so that nothing is lost, whatever changes meanwhile and wherever the walk is interrupted. */

/** Of a list that is sorted by the time of change, oldest first, and takes an inclusive `since`. */
export const ascendingCursor = z.object({
  since: z.string().optional(),
  /** Above 1 only while more items than fit on a page have the very same time. */
  page: z.number().int().positive().optional(),
  /** On the way back through such pages: where the walk goes on afterwards. */
  resumeAt: z.string().optional(),
});
export type AscendingCursor = z.output<typeof ascendingCursor>;

/**
 * Where to go on after a page: at the time of its last item rather than on the next page, because items that change
 * during the walk move to the end, and all others up. Only where a whole page has one time is the next page asked for.
 *
 * Such pages are read to the end of that time, and then once more on the way back. What leaves a page meanwhile moves the
 * rest up, over the boundary to a page that was read already; but nothing can move up past a reader that comes down page
 * by page, however much changes between two requests.
 */
export function ascend(
  cursor: AscendingCursor,
  { times, isFull }: { times: readonly string[]; isFull: boolean },
): { cursor: AscendingCursor; hasMore: boolean } {
  const { since, page = 1, resumeAt } = cursor;
  if (resumeAt !== undefined) return goBack(since, page, resumeAt);
  const last = times.at(-1);
  const reached = last !== undefined && isLater(last, since) ? last : since;
  if (isFull && reached === since) return { cursor: { ...cursor, page: page + 1 }, hasMore: true };
  if (page === 1 || reached === undefined) return { cursor: sinceOf(reached), hasMore: isFull };
  return { cursor: { ...sinceOf(since), page: page - 1, resumeAt: reached }, hasMore: true };
}

function goBack(since: string | undefined, page: number, resumeAt: string) {
  if (page > 1) return { cursor: { ...sinceOf(since), page: page - 1, resumeAt }, hasMore: true };
  return { cursor: { since: resumeAt }, hasMore: isLater(resumeAt, since) };
}

const sinceOf = (since: string | undefined): AscendingCursor => (since === undefined ? {} : { since });

function isLater(time: string, than: string | undefined): boolean {
  return than === undefined || Date.parse(time) > Date.parse(than);
}

/** Of a list that comes newest first. */
export const descendingCursor = z.object({
  /** How far back the next walk has to go: the newest item of the last walk that came to its end. */
  watermark: z.string().optional(),
  /** A walk under way: where it goes on, and what will be the watermark after it. */
  walk: z.object({ page: z.string(), newest: z.string().optional() }).optional(),
});
export type DescendingCursor = z.output<typeof descendingCursor>;

/**
 * Where to go on after a page. The watermark moves when the walk has come to its end and not before: moved at the first
 * page, a walk that dies would never see the pages behind it.
 */
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
  // A walk that found nothing must not forget where the last one ended.
  const reached = first ?? watermark;
  return { cursor: reached === undefined ? {} : { watermark: reached }, hasMore: false };
}

/** A time so many seconds earlier, for the query alone: what is late is still found, and the watermark stays where it is. */
export function lookback(time: string, seconds: number): string;
export function lookback(time: string | undefined, seconds: number): string | undefined;
export function lookback(time: string | undefined, seconds: number): string | undefined {
  if (time === undefined || seconds === 0) return time;
  return new Date(Date.parse(time) - seconds * 1000).toISOString();
}
