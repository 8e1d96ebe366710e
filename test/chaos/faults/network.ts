import { setTimeout as delay } from 'node:timers/promises';
import type { Network } from '../../support/network.ts';
import { until } from '../../support/until.ts';
import { type Fault, leaseSeconds, type World } from '../world.ts';

/** Bad weather for a while, between part of the fleet and Postgres. */
function weather(
  kind: string,
  lastsMs: number,
  begin: (world: World) => number | Promise<number>,
  lingersSeconds = 0,
): Fault {
  return {
    kind,
    lane: 'database',
    lingersSeconds,
    strike: async (world) => {
      const { network, recovery, chance } = world;
      return recovery.during(async () => {
        try {
          // Whoever is between two connections would not notice.
          await until('the fleet is connected', () => network.open() > 0);
          const struck = await begin(world);
          await delay(lastsMs + chance.below(1500));
          return struck > 0 ? 1 : 0;
        } finally {
          network.cutsAfter = () => false;
          await network.heal();
        }
      });
    },
  };
}

/** Nobody listens, and who was connected has to connect again. */
const refused = weather('refuse', 1500, async ({ network }) => {
  await network.refuse();
  return network.reset();
});

const reset = weather('reset', 1000, ({ network }) => network.reset());

const forgottenMs = 15_000;
/** A process that is told to end waits for what it has begun: a minute, unless it is told that nobody is there. */
const forgetLater = (network: Network) => setTimeout(() => network.forget(), forgottenMs).unref();

/** Longer than a lease, so that others take over what these run; what they had begun stays begun on the server. */
const stalled = weather(
  'stall',
  (leaseSeconds + 1) * 1000,
  ({ network }) => {
    const before = network.stalled();
    network.stall();
    forgetLater(network);
    return network.stalled() - before;
  },
  forgottenMs / 1000,
);

const halfOpen = weather('half-open', 2500, ({ network }) => {
  const before = network.stalled();
  network.halfOpen();
  forgetLater(network);
  return network.stalled() - before;
});

const trickle = weather('trickle', 2500, ({ network }) => {
  network.trickle();
  return network.open();
});

const cutAfterCommit: Fault = {
  kind: 'cut-commit',
  lane: 'database',
  often: 2,
  strike: async ({ network, recovery, chance }) =>
    recovery.during(async () => {
      let cuts = 0;
      const endsAt = Date.now() + 5000;
      network.cutsAfter = (sent) => {
        const isCut = sent.includes('COMMIT\0') && chance.percent(40);
        if (isCut) cuts++;
        return isCut;
      };
      while (cuts < 5 && Date.now() < endsAt) await delay(50);
      network.cutsAfter = () => false;
      return cuts > 0 ? 1 : 0;
    }),
};

const poolerKilled: Fault = {
  kind: 'pgbouncer',
  lane: 'database',
  impossible: ({ bouncer }) => (bouncer ? undefined : 'there is no pgbouncer on this machine'),
  strike: async ({ bouncer, chance, recovery }) => {
    await recovery.during(async () => bouncer?.restart(() => delay(500 + chance.below(1500))));
    return 1;
  },
};

export const networkFaults = [refused, reset, stalled, halfOpen, trickle, cutAfterCommit, poolerKilled];
