import { z } from 'zod';
import { createValidators, descend, type Http, lastLink, type SyncResult } from '../../kit/index.ts';
import type { Config } from './config.ts';
import { queryOf, type StreamCursor } from './cursor.ts';
import { releaseShape } from './shapes.ts';
import { releaseSignal } from './signals.ts';

/**
 * Releases do not say when they were changed, so whenever the first page is another than last time all are read again;
 * what is known is absorbed by its key. After the first page come the last, the one before it, and so on: what is deleted
 * meanwhile moves others up, and nothing can move up past a reader that comes down. What is added changes the first page.
 *
 * `watermark` is the newest time of publication among those that were read.
 */
export async function readReleases(
  http: Http,
  repository: string,
  { since }: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor>> {
  const { walk, watermark } = cursor;
  const validators = createValidators(cursor.validators);
  const answer = await http.getIfChanged(`repos/${repository}/releases`, {
    query: { per_page: 100, page: walk?.page },
    schema: z.array(releaseShape),
    validators: walk ? createValidators(undefined) : validators,
  });
  if (!answer) return { signals: [], nextCursor: cursor };

  const releases = answer.data;
  const published = releases.flatMap(({ published_at }) => published_at ?? []);
  const newest = latest([walk?.newest, ...(walk ? [] : [watermark]), ...published]);
  const previous = walk ? Number(walk.page) - 1 : lastPage(answer.headers);
  const { cursor: next, hasMore } = descend(walk ? { ...cursor, walk: { ...walk, newest } } : cursor, {
    newest,
    nextPage: previous > 1 ? String(previous) : undefined,
  });
  const sinceMs = Date.parse(since ?? '0000-01-01T00:00:00Z');
  return {
    signals: releases
      .filter(({ published_at, created_at }) => Date.parse(published_at ?? created_at) >= sinceMs)
      .map((release) => releaseSignal(repository, release, watermark)),
    nextCursor: { ...next, validators: validators.toCursor() },
    hasMore,
  };
}

function lastPage(headers: Headers): number {
  return Number(new URLSearchParams(queryOf(lastLink(headers))).get('page') ?? 1);
}

function latest(times: readonly (string | undefined)[]): string | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1);
}
