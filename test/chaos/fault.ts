import type { Chance } from '../http/random.ts';
import type { Network } from '../support/network.ts';
import type { Bouncer } from './bouncer.ts';
import type { Disk } from './disk.ts';
import type { Fleet } from './fleet.ts';
import type { ChaosPostgres } from './postgres.ts';
import type { Provider } from './provider.ts';
import type { Recovery } from './recovery.ts';
import type { Work } from './work.ts';

export interface FaultContext {
  disk: Disk;
  postgres: ChaosPostgres;
  network: Network;
  bouncer: Bouncer | undefined;
  provider: Provider;
  fleet: Fleet;
  work: Work;
  recovery: Recovery;
  chance: Chance;
  onProblem: (problem: string) => void;
}

/** Faults of one lane are sequential; lanes overlap. */
export const lanes = ['processes', 'database', 'provider'] as const;
type Lane = (typeof lanes)[number];

export interface Fault {
  kind: string;
  lane: Lane;
  /** Occurrences per round; default 1. */
  perRound?: number;
  /** Effect after its end: such faults come first in the first round. */
  lingersSeconds?: number;
  /** Why this machine cannot inject it. */
  skipReason?: (context: FaultContext) => string | undefined;
  /** Returns how often it took effect; a kind that never does fails the run. */
  inject: (context: FaultContext) => Promise<number>;
}

/** As set in test/support/fixtures/chaos.config.mjs. */
export const leaseSeconds = 3;
