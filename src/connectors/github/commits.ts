import { z } from 'zod';
import {
  createValidators,
  descend,
  type Http,
  nextLink,
  type SyncResult,
} from '../../connector-kit/index.ts';
import type { Config } from './config.ts';
import { queryOf, type StreamCursor } from './cursor.ts';
import { commitShape, comparisonShape } from './shapes.ts';
import type { GithubSignal } from './signal-schemas.ts';
import { commitSignal } from './signals.ts';

/** Compares branch heads: merges add commits with old dates. Fixed heads keep pages stable. */
export async function readCommits(
  http: Http,
  repository: string,
  config: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor, GithubSignal>> {
  const { walk } = cursor;
  if (walk?.newest === undefined) return findHead(http, repository, config, cursor);
  const { commits, headers } =
    cursor.watermark === undefined
      ? await allCommits(http, repository, walk.page)
      : await newCommits(http, repository, `${cursor.watermark}...${walk.newest}`, walk.page);
  const next = descend(cursor, { newest: undefined, nextPage: queryOf(nextLink(headers)) });
  return {
    signals: commits.map((commit) => commitSignal(repository, commit)),
    nextCursor: { ...next.cursor, validators: cursor.validators },
    hasMore: next.hasMore,
  };
}

async function findHead(
  http: Http,
  repository: string,
  { branch, since }: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor, GithubSignal>> {
  const validators = createValidators(cursor.validators);
  const reference = branch === undefined ? 'HEAD' : `heads/${branch}`;
  const path = reference.split('/').map(encodeURIComponent).join('/');
  const answer = await http.getIfChanged(`repos/${repository}/commits/${path}`, {
    headers: { accept: 'application/vnd.github.sha' },
    accept: [409],
    validators,
  });
  // 409: the repository is empty.
  if (!answer || answer.status === 409) return { signals: [], nextCursor: cursor };

  const head = answer.text.trim();
  const { watermark } = cursor;
  if (head === watermark)
    return { signals: [], nextCursor: { watermark, validators: validators.toCursor() } };
  const query = new URLSearchParams({ per_page: '100' });
  if (watermark === undefined) query.set('sha', head);
  if (watermark === undefined && since !== undefined) query.set('since', since);
  return {
    signals: [],
    nextCursor: { watermark, walk: { page: String(query), newest: head }, validators: validators.toCursor() },
    hasMore: true,
  };
}

async function allCommits(http: Http, repository: string, query: string) {
  const { data, headers } = await http.get(`repos/${repository}/commits?${query}`, {
    schema: z.array(commitShape),
  });
  return { commits: data, headers };
}

/** 404 after a force push: reads all commits. */
async function newCommits(http: Http, repository: string, range: string, query: string) {
  const { data, headers } = await http.get(`repos/${repository}/compare/${range}?${query}`, {
    schema: comparisonShape,
    expired: [404],
  });
  return { commits: data.commits, headers };
}
