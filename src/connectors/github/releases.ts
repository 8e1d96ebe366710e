import { z } from 'zod';
import {
  createValidators,
  descend,
  type Http,
  nextLink,
  type SyncResult,
} from '../../connector-kit/index.ts';
import type { Config } from './config.ts';
import type { StreamCursor } from './cursor.ts';
import { releaseShape } from './shapes.ts';
import { releaseSignal } from './signals.ts';

const perPage = 100;

/**
 * Releases do not say when they were changed, and a new one need not be the first: they are in the order of their commits.
 * So every page is asked for each time, and answers that it has not changed as long as it is what was stored. That also
 * finds what moved from page to page during a walk: by the next one, a page that hides it is another than the one known.
 *
 * `watermark` is the newest time of publication among those that were read, `pages` how many pages there were.
 */
export async function readReleases(
  http: Http,
  repository: string,
  { since }: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor>> {
  const { walk, watermark, pages = 1 } = cursor;
  const page = Number(walk?.page ?? 1);
  const validators = createValidators(cursor.validators);
  const answer = await http.getIfChanged(`repos/${repository}/releases`, {
    query: { per_page: perPage, page: walk?.page },
    schema: z.array(releaseShape),
    validators,
  });
  const releases = answer?.data ?? [];
  // A page that has not changed does not say whether there is another.
  const isLast = answer ? nextLink(answer.headers) === undefined : page >= pages;
  const published = releases.flatMap(({ published_at }) => published_at ?? []);
  const newest = latest([walk ? walk.newest : watermark, ...published]);
  const { cursor: next, hasMore } = descend(walk ? { ...cursor, walk: { ...walk, newest } } : cursor, {
    newest,
    nextPage: isLast ? undefined : String(page + 1),
  });
  // Behind a last page that is full one more may appear without changing it.
  const isRemembered = !isLast || releases.length < perPage;
  const sinceMs = Date.parse(since ?? '0000-01-01T00:00:00Z');
  return {
    signals: releases
      .filter(({ published_at, created_at }) => Date.parse(published_at ?? created_at) >= sinceMs)
      .map((release) => releaseSignal(repository, release, watermark)),
    nextCursor: {
      ...next,
      pages: isLast ? page : pages,
      validators: isRemembered ? validators.toCursor() : cursor.validators,
    },
    hasMore,
  };
}

function latest(times: readonly (string | undefined)[]): string | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1);
}
