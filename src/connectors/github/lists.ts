import { z } from 'zod';
import {
  type AscendingCursor,
  ascend,
  createValidators,
  type Http,
  nextLink,
  type SyncResult,
} from '../../connector-kit/index.ts';
import { type Config, isoSeconds } from './config.ts';
import { type StreamCursor, settledTime } from './cursor.ts';
import { issueCommentShape, issueShape, reviewCommentShape } from './shapes.ts';
import type { GithubSignal } from './signal-schemas.ts';
import { issueCommentSignal, issueSignal, reviewCommentSignal } from './signals.ts';

/** Sorted by change time, with `since`. */
interface List<Item extends { updated_at: string }> {
  path: string;
  query: Record<string, string>;
  shape: z.ZodType<Item>;
  /** Undefined if another list covers the item. */
  signal(repository: string, item: Item): GithubSignal | undefined;
}

function list<Item extends { updated_at: string }>(definition: List<Item>) {
  return (http: Http, repository: string, config: Config, cursor: StreamCursor) =>
    readList(http, definition, repository, config, cursor);
}

export const readIssues = list({
  path: 'issues',
  query: { state: 'all' },
  shape: issueShape,
  signal: (repository, issue) =>
    issue.pull_request === undefined ? issueSignal(repository, issue) : undefined,
});

/** Includes comments on pull requests. */
export const readIssueComments = list({
  path: 'issues/comments',
  query: {},
  shape: issueCommentShape,
  signal: issueCommentSignal,
});

export const readReviewComments = list({
  path: 'pulls/comments',
  query: {},
  shape: reviewCommentShape,
  signal: reviewCommentSignal,
});

async function readList<Item extends { updated_at: string }>(
  http: Http,
  { path, query, shape, signal }: List<Item>,
  repository: string,
  config: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor, GithubSignal>> {
  const position: AscendingCursor = { ...cursor, since: cursor.since ?? config.since };
  const isStart = cursor.page === undefined;
  const validators = createValidators(cursor.validators);
  const answer = await http.getIfChanged(`repos/${repository}/${path}`, {
    query: {
      ...query,
      sort: 'updated',
      direction: 'asc',
      per_page: 100,
      since: position.since,
      page: position.page,
    },
    schema: z.array(shape),
    validators: isStart ? validators : createValidators(undefined),
  });
  if (!answer) return { signals: [], nextCursor: cursor };

  const isFull = nextLink(answer.headers) !== undefined;
  const times = answer.data.map(({ updated_at }) => updated_at);
  const signals = answer.data.flatMap((item) => signal(repository, item) ?? []);
  const { cursor: next, hasMore } = ascend(position, { times, isFull });
  if (hasMore) return { signals, nextCursor: next, hasMore };

  const since = next.since && latest(settledSince(next.since, !isStart, answer.headers), config.since);
  // A 304 helps only for an identical request whose page is the whole list.
  const isSameRequest = isStart && since === cursor.since;
  return { signals, nextCursor: { since, validators: isSameRequest ? validators.toCursor() : undefined } };
}

const latest = (time: string, other = time) => (Date.parse(other) > Date.parse(time) ? other : time);

/** If one second fills several pages, starts after it: every sync would reread them. */
function settledSince(last: string, isWithinPages: boolean, headers: Headers): string {
  const since = settledTime(last, headers);
  return isWithinPages && since === last ? isoSeconds(Date.parse(last) + 1000) : since;
}
