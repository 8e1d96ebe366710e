import { z } from 'zod';

const position = z.array(z.string());

/** At the start of a walk; 64-bit xids as text. */
const snapshotSchema = z.object({
  /** All earlier transactions had ended. */
  xmin: z.string(),
  /** None from this one on had written. */
  next: z.string(),
  /** Null: empty table. */
  highest: z.string().nullable(),
});

export const cursorSchema = z.object({
  of: z.string(),
  /** Last row of all complete walks. */
  watermark: position.nullable(),
  /** Earlier walks, oldest first, while rows may appear behind them. */
  walks: z.array(snapshotSchema.omit({ xmin: true })),
  /** At the start of the last complete walk. */
  xmin: z.string().nullable(),
  walk: snapshotSchema
    .extend({
      /** Null: first row. */
      begin: z.string().nullable(),
      at: position.nullable(),
      /** Rows up to the watermark are new from this xid on; null: all are. */
      sinceXid: z.string().nullable(),
    })
    .optional(),
});

export type TableCursor = z.output<typeof cursorSchema>;
export type WalkSnapshot = z.output<typeof snapshotSchema>;

/** Fewer entries reread more rows. */
const maxWalks = 16;

/** Before the lookback; null: first row. */
export interface Start {
  from: string | null;
  sinceXid: string | null;
}

/**
 * Rows invisible to the last walk belong to transactions running at its start, whose first write follows an
 * earlier walk with `next` <= that xmin: reread only their rows, from its highest value.
 */
export function startOf(cursor: TableCursor, now: WalkSnapshot, hasXmin: boolean): Start {
  const last = cursor.walks.at(-1);
  if (!last || cursor.xmin === null) return { from: null, sinceXid: null };
  // Another or a restored server has unrelated xids.
  const isOtherServer = BigInt(now.next) < BigInt(last.next);
  if (!hasXmin || isOtherServer) return { from: last.highest, sinceXid: null };
  const isTooOld = BigInt(now.next) - BigInt(cursor.xmin) > 1_000_000_000n;
  return {
    from: lastWalkBefore(cursor.walks, cursor.xmin)?.highest ?? null,
    // 32-bit xids wrap around.
    sinceXid: isTooOld ? null : String(BigInt(cursor.xmin) % 2n ** 32n),
  };
}

/** Started before any transaction running at `xmin` wrote. */
const lastWalkBefore = (walks: TableCursor['walks'], xmin: string) =>
  walks.findLast(({ next }) => BigInt(next) <= BigInt(xmin));

export function finishWalk(cursor: TableCursor, walk: WalkSnapshot & { at: string[] | null }): TableCursor {
  const last = cursor.walks.at(-1);
  const isOtherServer = last !== undefined && BigInt(walk.next) < BigInt(last.next);
  const walks = [...(isOtherServer ? [] : cursor.walks), { next: walk.next, highest: walk.highest }];
  const oldest = lastWalkBefore(walks, walk.xmin);
  const kept = oldest ? walks.slice(walks.indexOf(oldest)) : walks;
  // An earlier entry rereads more rows, loses none.
  if (kept.length > maxWalks) kept.splice(1, 1);
  return { of: cursor.of, watermark: walk.at ?? cursor.watermark, walks: kept, xmin: walk.xmin };
}
