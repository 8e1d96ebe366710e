import { z } from 'zod';

/** Where a tap is to go on. */
export const cursorSchema = z.object({
  /** The value of a STATE message: what the tap is given back. */
  state: z.unknown().optional(),
  /** While a walk is cut into pages: what tells a tap that goes on from one that starts over. */
  walk: z
    .object({
      /** Hash of the first record of the walk. */
      first: z.string().optional(),
      /** Hashes of the states at which its last pages ended. */
      ends: z.array(z.string()),
      /** The tap failed at the end of the last page. */
      failed: z.boolean().optional(),
    })
    .optional(),
});

export type TapCursor = z.output<typeof cursorSchema>;

/** One would do for a tap that always says the same; these are for those that do not. */
export const maxEnds = 32;

/** Whether a STATE says anything at all: an empty one must not replace one that does. */
export function isEmptyState(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.values(value).every(isEmptyState);
}
