import { z } from 'zod';
import {
  ascendingCursor,
  descendingCursor,
  type StreamsCursor,
  streamsCursor,
  validatorsCursor,
} from '../../connector-kit/index.ts';
import { isoSeconds } from './config.ts';

const streamCursor = ascendingCursor
  .extend(descendingCursor.shape)
  .extend({ validators: validatorsCursor.optional(), pages: z.number().int().positive().optional() });
export type StreamCursor = z.output<typeof streamCursor>;

export const cursorSchema = streamsCursor(streamCursor);
export type Cursor = StreamsCursor<StreamCursor>;

/** The cursor limit is 256 kB. */
const maxCharacters = 240_000;

/** Oversize cursors drop validators, which only save requests. */
export function fitCursor(cursor: Cursor): Cursor {
  if (JSON.stringify(cursor).length <= maxCharacters) return cursor;
  const streams = Object.entries(cursor.streams).map(([name, { validators: _, ...rest }]) => [name, rest]);
  return { ...cursor, streams: Object.fromEntries(streams) };
}

/** Uncommitted writes may appear this far back. */
const unsettledMs = 60_000;

export function settledTime(newest: string, headers: Headers): string {
  const settledMs = Date.parse(headers.get('date') ?? '') - unsettledMs;
  return Date.parse(newest) > settledMs ? isoSeconds(settledMs) : newest;
}

/** Only the query: a rename changes the path. */
export function queryOf(link: string | undefined): string | undefined {
  if (link === undefined || !URL.canParse(link, 'https://github.com')) return undefined;
  return new URL(link, 'https://github.com').search.slice(1);
}
