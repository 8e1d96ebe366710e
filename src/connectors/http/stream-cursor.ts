import { z } from 'zod';
import { streamsCursor, validatorsCursor } from '../../connector-kit/index.ts';
import { fingerprint, type Pointer, pointerSchema } from './pages.ts';

const position = z.union([z.string(), z.number()]);

/** Brent's cycle detection: the mark moves at powers of two. */
const circle = z.object({ mark: z.string(), steps: z.number(), power: z.number() });

const walk = z.object({
  /** Value of `{now}` for all pages. */
  startedAt: z.string(),
  /** Advances if each page is a new query. */
  from: position.optional(),
  reached: position.optional(),
  page: pointerSchema.optional(),
  longest: z.number().optional(),
  /** Reread, as numbered pages shift. */
  before: pointerSchema.optional(),
  /** Consecutive empty pages, and pages with identical records. */
  empty: z.number().optional(),
  same: z.number().optional(),
  keys: z.string().optional(),
  circle: circle.optional(),
});

const streamCursor = z.object({
  /** A hash; another query discards the cursor. */
  of: z.string(),
  watermark: position.optional(),
  walk: walk.optional(),
  /** After its page token expired. */
  restartedAt: z.string().optional(),
  /** Of all walks, if each page is a new query: ending early then loses nothing. */
  longest: z.number().optional(),
  tags: validatorsCursor.optional(),
});

export type Walk = z.output<typeof walk>;
export type StreamCursor = z.output<typeof streamCursor>;
export const httpCursor = streamsCursor(streamCursor);

/** Undefined if the walk returned to the mark. */
export function moveMark(mark: Walk['circle'], pointer: Pointer): Walk['circle'] {
  const here = fingerprint(pointer);
  if (!mark) return { mark: here, steps: 0, power: 1 };
  if (mark.mark === here) return undefined;
  if (mark.steps + 1 < mark.power) return { ...mark, steps: mark.steps + 1 };
  return { mark: here, steps: 0, power: mark.power * 2 };
}
