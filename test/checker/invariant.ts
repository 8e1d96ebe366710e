import type { Commit, World } from './world.ts';

/** How something is not as it should be. */
export interface Finding {
  connectionId?: string | undefined;
  jobId?: string | undefined;
  detail: string;
}

/** How the scheduler under test is set up. */
export interface Schedule {
  tickIntervalSeconds: number;
  defaultIntervalSeconds: number;
  maxOverriddenIntervalSeconds: number;
  jitterPctMin: number;
  jitterPctMax: number;
}

/** Holds whenever a transaction has committed. Looks at what it wrote, and at the world as it then is. */
export interface Always {
  name: string;
  look: (commit: Commit, world: World, schedule: Schedule) => Iterable<Finding>;
}

/** Holds once everything should have finished. */
export interface AtRest {
  name: string;
  look: (world: World, circumstances: { nowMs: number; schedule: Schedule }) => Iterable<Finding>;
}

/** About what everybody may see, whoever wrote it. */
export const always = (name: string, look: Always['look']): Always => ({ name, look });

/** About what the engine does. Other writers may do more: tables are a public contract. */
export const ofTheEngine = (name: string, look: Always['look']): Always => ({
  name,
  look: (commit, world, schedule) => (commit.isStrange ? [] : look(commit, world, schedule)),
});

export const atRest = (name: string, look: AtRest['look']): AtRest => ({ name, look });
