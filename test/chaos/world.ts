import type { Chance } from '../http/random.ts';
import type { Network } from '../support/network.ts';
import type { Bouncer } from './bouncer.ts';
import type { Disk } from './disk.ts';
import type { Fleet } from './fleet.ts';
import type { ChaosPostgres } from './postgres.ts';
import type { Provider } from './provider.ts';
import type { Recovery } from './recovery.ts';
import type { Work } from './work.ts';

/** Everything that faults act on. */
export interface World {
  disk: Disk;
  postgres: ChaosPostgres;
  network: Network;
  bouncer: Bouncer | undefined;
  provider: Provider;
  fleet: Fleet;
  work: Work;
  recovery: Recovery;
  chance: Chance;
  /** Something happened that must not. */
  onProblem: (what: string) => void;
}

/** Faults of one lane come one after the other; those of different lanes overlap. */
export const lanes = ['processes', 'database', 'provider'] as const;
type Lane = (typeof lanes)[number];

/** A kind of fault. */
export interface Fault {
  kind: string;
  lane: Lane;
  /** How often in a round; once unless given. */
  often?: number;
  /** For how long it can be felt after it is over: in the first round such faults come first. */
  lingersSeconds?: number;
  /** Why it cannot happen here; it is then passed over, and the report says so. */
  impossible?: (world: World) => string | undefined;
  /** Does it, undoes it, and returns how often it took effect: one that never did fails the run. */
  strike: (world: World) => Promise<number>;
}

/** As set in test/support/fixtures/chaos.config.mjs. */
export const leaseSeconds = 3;
