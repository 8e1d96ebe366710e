import type { Commit, DatabaseState } from './database-state.ts';

export interface Finding {
  connectionId?: string | undefined;
  jobId?: string | undefined;
  detail: string;
}

export interface Schedule {
  tickIntervalSeconds: number;
  defaultIntervalSeconds: number;
  maxOverriddenIntervalSeconds: number;
  jitterPctMin: number;
  jitterPctMax: number;
}

/** Holds after every commit. */
export interface Always {
  name: string;
  check: (commit: Commit, state: DatabaseState, schedule: Schedule) => Iterable<Finding>;
}

export interface AtRest {
  name: string;
  check: (state: DatabaseState, circumstances: { nowMs: number; schedule: Schedule }) => Iterable<Finding>;
}

/** Applies to the writes of every session. */
export const always = (name: string, check: Always['check']): Always => ({ name, check });

/** Other writers may do more: the tables are a public contract. */
export const engineOnly = (name: string, check: Always['check']): Always => ({
  name,
  check: (commit, state, schedule) => (commit.isForeign ? [] : check(commit, state, schedule)),
});

export const atRest = (name: string, check: AtRest['check']): AtRest => ({ name, check });
