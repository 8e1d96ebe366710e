import { z } from 'zod';
import {
  createValidators,
  descend,
  type Http,
  nextLink,
  type SyncResult,
} from '../../connector-kit/index.ts';
import type { Config } from './config.ts';
import { queryOf, type StreamCursor, settledTime } from './cursor.ts';
import { pullRequestShape } from './shapes.ts';
import type { GithubSignal } from './signal-schemas.ts';
import { pullRequestSignal } from './signals.ts';

const firstPage = 'state=all&sort=updated&direction=desc&per_page=100';

/** Newest change to watermark: the list has no `since`. The next walk finds changes made meanwhile. */
export async function readPullRequests(
  http: Http,
  repository: string,
  config: Config,
  cursor: StreamCursor,
): Promise<SyncResult<StreamCursor, GithubSignal>> {
  const validators = createValidators(cursor.validators);
  const answer = await http.getIfChanged(`repos/${repository}/pulls?${cursor.walk?.page ?? firstPage}`, {
    schema: z.array(pullRequestShape),
    validators: cursor.walk ? createValidators(undefined) : validators,
  });
  if (!answer) return { signals: [], nextCursor: cursor };

  const pulls = answer.data;
  const floorMs = Date.parse(cursor.watermark ?? config.since ?? '0000-01-01T00:00:00Z');
  const isNew = ({ updated_at }: { updated_at: string }) => Date.parse(updated_at) >= floorMs;
  const [newest] = pulls;
  const { cursor: next, hasMore } = descend(cursor, {
    newest: newest && settledTime(newest.updated_at, answer.headers),
    nextPage: pulls.every(isNew) ? queryOf(nextLink(answer.headers)) : undefined,
  });
  return {
    signals: pulls.filter(isNew).map((pull) => pullRequestSignal(repository, pull)),
    nextCursor: { ...next, validators: validators.toCursor() },
    hasMore,
  };
}
