import { z } from 'zod';
import { streamsCursor, validatorsCursor } from '../../connector-kit/index.ts';
import { fingerprint, type Pointer, pointerSchema } from './pages.ts';

const position = z.union([z.string(), z.number()]);

/** Finds circles with one mark, however long a walk is: the mark moves on at powers of two. */
const circle = z.object({ mark: z.string(), steps: z.number(), power: z.number() });

const walk = z.object({
  /** What `{now}` stands for, on all its pages. */
  startedAt: z.string(),
  /** From where it asks; moves on where each page is a query of its own. */
  from: position.optional(),
  /** What the watermark becomes at its end. */
  reached: position.optional(),
  /** The page to read; the first where there is none. */
  page: pointerSchema.optional(),
  /** The longest page of it. */
  longest: z.number().optional(),
  /** The page before it, which is read again where numbers shift; the first where there is none. */
  before: pointerSchema.optional(),
  /** Pages without records, and pages with the very same ones, one after the other. */
  empty: z.number().optional(),
  same: z.number().optional(),
  keys: z.string().optional(),
  circle: circle.optional(),
});

const streamCursor = z.object({
  /** What was asked: with another question, nothing of this cursor holds. */
  of: z.string(),
  /** How far the last walk that came to its end has come. */
  watermark: position.optional(),
  walk: walk.optional(),
  /** When the walk under way was started anew because the token for its next page had perished. */
  restartedAt: z.string().optional(),
  /** The longest page there ever was; kept where a walk that ends too soon loses nothing. */
  longest: z.number().optional(),
  tags: validatorsCursor.optional(),
});

export type Walk = z.output<typeof walk>;
export type StreamCursor = z.output<typeof streamCursor>;
export const httpCursor = streamsCursor(streamCursor);

/** The mark after one more page; undefined where the walk has been there before. */
export function moveMark(mark: Walk['circle'], pointer: Pointer): Walk['circle'] {
  const here = fingerprint(pointer);
  if (!mark) return { mark: here, steps: 0, power: 1 };
  if (mark.mark === here) return undefined;
  if (mark.steps + 1 < mark.power) return { ...mark, steps: mark.steps + 1 };
  return { mark: here, steps: 0, power: mark.power * 2 };
}
