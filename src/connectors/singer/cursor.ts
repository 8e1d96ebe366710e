import { z } from 'zod';

export const cursorSchema = z.object({
  state: z.unknown().optional(),
  /** Detects taps that start over. */
  walk: z
    .object({
      first: z.string().optional(),
      /** Hashes of states at page ends. */
      ends: z.array(z.string()),
      /** The last page ended in a failure. */
      failed: z.boolean().optional(),
    })
    .optional(),
});

export type TapCursor = z.output<typeof cursorSchema>;

/** Several, for taps whose states vary. */
export const maxEnds = 32;

/** An empty STATE must not replace another. */
export function isEmptyState(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.values(value).every(isEmptyState);
}
