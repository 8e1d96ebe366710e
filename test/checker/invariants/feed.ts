import { always, ofTheEngine } from '../invariant.ts';

export const everySignalHasAPlace = always('every signal has a place in the feed', (commit, world) =>
  commit.signals.flatMap(({ before, after }) =>
    !before && after && typeof world.batches.get(after.batch)?.position !== 'number'
      ? [
          {
            connectionId: after.connection_id,
            detail: `signal ${after.id} is in batch ${after.batch}, which has no position`,
          },
        ]
      : [],
  ),
);

/** A reader that has passed a batch does not come back to it. */
export const batchesAreClosed = always(
  'no signal joins a batch that had its place before',
  (commit, world) => {
    const made = new Set(commit.batches.flatMap(({ before, after }) => (before ? [] : (after?.batch ?? []))));
    return commit.signals.flatMap(({ before, after }) =>
      !before && after && world.batches.has(after.batch) && !made.has(after.batch)
        ? [{ connectionId: after.connection_id, detail: `signal ${after.id} joined batch ${after.batch}` }]
        : [],
    );
  },
);

export const placesAreGivenOnce = ofTheEngine(
  'a place in the feed is given once, and to one batch',
  (commit, world) =>
    commit.batches.flatMap(({ before, after }) => {
      if (!after) return [];
      const isMoved = before !== undefined && before.position !== null && before.position !== after.position;
      const others = after.position === null ? 0 : (world.places.get(after.position)?.size ?? 0) - 1;
      if (!isMoved && others <= 0) return [];
      return [
        {
          detail: `batch ${after.batch}: from ${before?.position} to ${after.position}, which ${others} others have`,
        },
      ];
    }),
);
