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
import type { GithubSignal } from './signal-schemas.ts';
import { releaseSignal } from './signals.ts';

const perPage = 100;

/**
 * Requests every page, conditionally: releases are sorted by commit, without a change time; moving one
 * changes its pages' ETags. `watermark`: newest publication time.
 */
export async function readReleases(
  http: Http,
  repository: string,
  { since }: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor, GithubSignal>> {
  const { walk, watermark, pages = 1 } = cursor;
  const page = Number(walk?.page ?? 1);
  const validators = createValidators(cursor.validators);
  const answer = await http.getIfChanged(`repos/${repository}/releases`, {
    query: { per_page: perPage, page: walk?.page },
    schema: z.array(releaseShape),
    validators,
  });
  const releases = answer?.data ?? [];
  // A 304 has no Link header.
  const isLast = answer ? nextLink(answer.headers) === undefined : page >= pages;
  const published = releases.flatMap(({ published_at }) => published_at ?? []);
  const newest = latest([walk ? walk.newest : watermark, ...published]);
  const { cursor: next, hasMore } = descend(walk ? { ...cursor, walk: { ...walk, newest } } : cursor, {
    newest,
    nextPage: isLast ? undefined : String(page + 1),
  });
  // A page may follow a full one, whose ETag stays.
  const canKeepValidators = !isLast || releases.length < perPage;
  const sinceMs = Date.parse(since ?? '0000-01-01T00:00:00Z');
  return {
    signals: releases
      .filter(({ published_at, created_at }) => Date.parse(published_at ?? created_at) >= sinceMs)
      .map((release) => releaseSignal(repository, release, watermark)),
    nextCursor: {
      ...next,
      pages: isLast ? page : pages,
      validators: canKeepValidators ? validators.toCursor() : cursor.validators,
    },
    hasMore,
  };
}

function latest(times: readonly (string | undefined)[]): string | undefined {
  const defined = times.filter((time) => time !== undefined);
  return defined.sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1);
}
