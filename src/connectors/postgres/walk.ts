import { z } from 'zod';

const position = z.array(z.string());

/** How things stood when a walk began. Transactions are counted by 64-bit ids, as text. */
const standingSchema = z.object({
  /** All before it had ended. */
  xmin: z.string(),
  /** None from it on had begun to write. */
  next: z.string(),
  /** The highest value that could be seen; null in an empty table. */
  highest: z.string().nullable(),
});

export const cursorSchema = z.object({
  /** Which table and columns the rest speaks of. */
  of: z.string(),
  /** The last row of all complete walks. */
  watermark: position.nullable(),
  /** Starts of earlier walks, oldest first: those that say where rows may still appear. */
  walks: z.array(standingSchema.omit({ xmin: true })),
  /** Of the start of the last complete walk. */
  xmin: z.string().nullable(),
  /** The one under way. */
  walk: standingSchema
    .extend({
      /** The value it began with; null for the first row of all. */
      begin: z.string().nullable(),
      /** The last row it has read. */
      at: position.nullable(),
      /** Rows up to the watermark are of interest only from this transaction on; null: all are. */
      sinceXid: z.string().nullable(),
    })
    .optional(),
});

export type TableCursor = z.output<typeof cursorSchema>;
export type Standing = z.output<typeof standingSchema>;

/** More make re-reading start a little earlier than it must; a cursor stays small. */
const maxWalks = 16;

/** Where a walk begins: after this value less the lookback, or with the first row. */
export interface Start {
  from: string | null;
  sinceXid: string | null;
}

/**
 * Rows that were not visible to the last walk were written by transactions that had not ended when it began. Those wrote
 * their first row after the start of an earlier walk by which none of them had begun to write: so it is enough to go back
 * to the highest value of that time, and from there only what such transactions wrote is new.
 */
export function startOf(cursor: TableCursor, now: Standing, hasXmin: boolean): Start {
  const last = cursor.walks.at(-1);
  if (!last || cursor.xmin === null) return { from: null, sinceXid: null };
  // Another server, or one put back to an earlier time: its transactions are not the ones that were counted.
  const isOther = BigInt(now.next) < BigInt(last.next);
  if (!hasXmin || isOther) return { from: last.highest, sinceXid: null };
  const isTooOld = BigInt(now.next) - BigInt(cursor.xmin) > 1_000_000_000n;
  return {
    from: decided(cursor.walks, cursor.xmin)?.highest ?? null,
    // Rows carry 32 bits of it, which come round again.
    sinceXid: isTooOld ? null : String(BigInt(cursor.xmin) % 2n ** 32n),
  };
}

/** The latest walk at whose start none of the transactions had begun that still ran at `xmin`. */
const decided = (walks: TableCursor['walks'], xmin: string) =>
  walks.findLast(({ next }) => BigInt(next) <= BigInt(xmin));

/** The cursor after a walk that came to the end of the table. */
export function ended(cursor: TableCursor, walk: Standing & { at: string[] | null }): TableCursor {
  const last = cursor.walks.at(-1);
  const isOther = last !== undefined && BigInt(walk.next) < BigInt(last.next);
  const walks = [...(isOther ? [] : cursor.walks), { next: walk.next, highest: walk.highest }];
  const oldest = decided(walks, walk.xmin);
  const kept = oldest ? walks.slice(walks.indexOf(oldest)) : walks;
  // Without one in the middle an earlier one is taken in its place, which reads more and loses nothing.
  if (kept.length > maxWalks) kept.splice(1, 1);
  return { of: cursor.of, watermark: walk.at ?? cursor.watermark, walks: kept, xmin: walk.xmin };
}
