import { always, engineOnly } from '../invariant.ts';

export const everySignalHasAPosition = always('every signal has a position in the feed', (commit, state) =>
  commit.signals.flatMap(({ before, after }) =>
    !before && after && typeof state.batches.get(after.batch)?.position !== 'number'
      ? [
          {
            connectionId: after.connection_id,
            detail: `signal ${after.id} is in batch ${after.batch}, which has no position`,
          },
        ]
      : [],
  ),
);

/** Readers never return to an earlier batch. */
export const batchesAreClosed = always(
  'no signal is added to a batch that already has a position',
  (commit, state) => {
    const created = new Set(
      commit.batches.flatMap(({ before, after }) => (before ? [] : (after?.batch ?? []))),
    );
    return commit.signals.flatMap(({ before, after }) =>
      !before && after && state.batches.has(after.batch) && !created.has(after.batch)
        ? [{ connectionId: after.connection_id, detail: `signal ${after.id} joined batch ${after.batch}` }]
        : [],
    );
  },
);

export const positionsAreAssignedOnce = engineOnly(
  'a feed position is assigned once, to one batch',
  (commit, state) =>
    commit.batches.flatMap(({ before, after }) => {
      if (!after) return [];
      const isMoved = before !== undefined && before.position !== null && before.position !== after.position;
      const others =
        after.position === null ? 0 : (state.batchesByPosition.get(after.position)?.size ?? 0) - 1;
      if (!isMoved && others <= 0) return [];
      return [
        {
          detail: `batch ${after.batch}: from ${before?.position} to ${after.position}, which ${others} others have`,
        },
      ];
    }),
);
