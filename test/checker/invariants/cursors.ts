import { isDeepStrictEqual } from 'node:util';
import { hasEvent, runsSettled } from '../causes.ts';
import type { Commit } from '../database-state.ts';
import { engineOnly } from '../invariant.ts';
import { cursorOf, type Job } from '../rows.ts';

const shown = (cursor: unknown) => JSON.stringify(cursor)?.slice(0, 200);

const storedBy = (commit: Commit, connectionId: string): Job[] =>
  runsSettled(commit)
    .map(({ after }) => after)
    .filter(
      (job) => job.connection_id === connectionId && job.status === 'succeeded' && job.next_cursor !== null,
    );

/** EXE-5. */
export const movesWithARun = engineOnly(
  "a connection's cursor changes only with the end of a run or by a rewind",
  (commit) =>
    commit.connections.flatMap(({ before, after }) => {
      if (!before || !after || isDeepStrictEqual(cursorOf(before), cursorOf(after))) return [];
      if (storedBy(commit, after.id).length > 0 || hasEvent(commit, after.id, 'connection.rewound'))
        return [];
      return [
        { connectionId: after.id, detail: `from ${shown(cursorOf(before))} to ${shown(cursorOf(after))}` },
      ];
    }),
);

/** EXE-5. */
export const runsStoreTheirCursor = engineOnly(
  'the next cursor of a run is stored when the run ends',
  (commit, state) =>
    runsSettled(commit).flatMap(({ after: job }) => {
      const connection = state.connections.get(job.connection_id);
      if (job.next_cursor === null || !connection || isDeepStrictEqual(cursorOf(connection), job.next_cursor))
        return [];
      return [
        {
          jobId: job.id,
          connectionId: job.connection_id,
          detail: `its next cursor is ${shown(job.next_cursor)}; its connection has ${shown(cursorOf(connection))}`,
        },
      ];
    }),
);

/** EXE-6. */
export const nextPageGoesOn = engineOnly(
  'a follow-up job starts at the cursor that the previous run stored',
  (commit) =>
    commit.jobs.flatMap(({ before, after }) => {
      if (!after || after.cursor === null || isDeepStrictEqual(before?.cursor, after.cursor)) return [];
      const stored = storedBy(commit, after.connection_id);
      if (stored.some((job) => isDeepStrictEqual(job.next_cursor, after.cursor))) return [];
      return [
        {
          jobId: after.id,
          connectionId: after.connection_id,
          detail: `it starts at ${shown(after.cursor)}, which no run stored in this transaction`,
        },
      ];
    }),
);
