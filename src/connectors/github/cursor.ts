import { z } from 'zod';
import {
  ascendingCursor,
  descendingCursor,
  type StreamsCursor,
  streamsCursor,
  validatorsCursor,
} from '../../connector-kit/index.ts';
import { isoSeconds } from './config.ts';

/** Where one list of one repository was left. Each kind of list uses the fields of its walk. */
const streamCursor = ascendingCursor
  .extend(descendingCursor.shape)
  .extend({ validators: validatorsCursor.optional(), pages: z.number().int().positive().optional() });
export type StreamCursor = z.output<typeof streamCursor>;

export const cursorSchema = streamsCursor(streamCursor);
export type Cursor = StreamsCursor<StreamCursor>;

/** Of the 256 kB that a cursor may have. */
const maxCharacters = 240_000;

/** Hundreds of lists with very long names: validators spare requests, and are what can be done without. */
export function fitting(cursor: Cursor): Cursor {
  if (JSON.stringify(cursor).length <= maxCharacters) return cursor;
  const streams = Object.entries(cursor.streams).map(([name, { validators: _, ...rest }]) => [name, rest]);
  return { ...cursor, streams: Object.fromEntries(streams) };
}

/** What was changed so recently may still appear: writers that have their time, and are not yet to be seen. */
const unsettledMs = 60_000;

/** A time up to which everything is there: that of the newest item, or a minute before the answer if it is younger. */
export function settled(newest: string, headers: Headers): string {
  const settledMs = Date.parse(headers.get('date') ?? '') - unsettledMs;
  return Date.parse(newest) > settledMs ? isoSeconds(settledMs) : newest;
}

/** The query of a linked page. Its path may be another, after a repository has moved; the query is all that is needed. */
export function queryOf(link: string | undefined): string | undefined {
  if (link === undefined || !URL.canParse(link, 'https://github.com')) return undefined;
  return new URL(link, 'https://github.com').search.slice(1);
}
