import { isDeepStrictEqual } from 'node:util';
import { hasEvent, runsSettled } from '../causes.ts';
import { ofTheEngine } from '../invariant.ts';
import { cursorOf, type Job } from '../rows.ts';
import type { Commit } from '../world.ts';

const shown = (cursor: unknown) => JSON.stringify(cursor)?.slice(0, 200);

/** The jobs of a connection that stored a cursor in this transaction. */
const storedBy = (commit: Commit, connectionId: string): Job[] =>
  runsSettled(commit)
    .map(({ after }) => after)
    .filter(
      (job) => job.connection_id === connectionId && job.status === 'succeeded' && job.next_cursor !== null,
    );

/** EXE-5. */
export const movesWithARun = ofTheEngine(
  "a connection's cursor moves only with the end of a run, or by a rewind",
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
export const runsStoreTheirCursor = ofTheEngine(
  'the cursor that a run found is stored with its end',
  (commit, world) =>
    runsSettled(commit).flatMap(({ after: job }) => {
      const connection = world.connections.get(job.connection_id);
      if (job.next_cursor === null || !connection || isDeepStrictEqual(cursorOf(connection), job.next_cursor))
        return [];
      return [
        {
          jobId: job.id,
          connectionId: job.connection_id,
          detail: `it found ${shown(job.next_cursor)}, and its connection has ${shown(cursorOf(connection))}`,
        },
      ];
    }),
);

/** EXE-6. */
export const nextPageGoesOn = ofTheEngine(
  'a job goes on from the cursor that the run before it stored',
  (commit) =>
    commit.jobs.flatMap(({ before, after }) => {
      if (!after || after.cursor === null || isDeepStrictEqual(before?.cursor, after.cursor)) return [];
      const stored = storedBy(commit, after.connection_id);
      if (stored.some((job) => isDeepStrictEqual(job.next_cursor, after.cursor))) return [];
      return [
        {
          jobId: after.id,
          connectionId: after.connection_id,
          detail: `it begins at ${shown(after.cursor)}, which no run stored with it`,
        },
      ];
    }),
);
