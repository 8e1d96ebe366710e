import { setTimeout as delay } from 'node:timers/promises';
import type { Network } from '../../support/network.ts';
import { until } from '../../support/until.ts';
import { type Fault, type FaultContext, leaseSeconds } from '../fault.ts';

function networkFault(
  kind: string,
  lastsMs: number,
  start: (context: FaultContext) => number | Promise<number>,
  lingersSeconds = 0,
): Fault {
  return {
    kind,
    lane: 'database',
    lingersSeconds,
    inject: async (context) => {
      const { network, recovery, chance } = context;
      return recovery.duringFault(async () => {
        try {
          // The fault has no effect on a fleet without connections.
          await until('the fleet is connected', () => network.open() > 0);
          const effects = await start(context);
          await delay(lastsMs + chance.below(1500));
          return effects > 0 ? 1 : 0;
        } finally {
          network.cutsAfter = () => false;
          await network.heal();
        }
      });
    },
  };
}

const refused = networkFault('refuse', 1500, async ({ network }) => {
  await network.refuse();
  return network.reset();
});

const reset = networkFault('reset', 1000, ({ network }) => network.reset());

const closeAfterMs = 15_000;
/** A stopping process waits up to a minute for a stalled statement; closing the socket ends the wait. */
const closeLater = (network: Network) => setTimeout(() => network.forget(), closeAfterMs).unref();

/** Longer than a lease; open transactions stay open on the server. */
const stalled = networkFault(
  'stall',
  (leaseSeconds + 1) * 1000,
  ({ network }) => {
    const before = network.stalled();
    network.stall();
    closeLater(network);
    return network.stalled() - before;
  },
  closeAfterMs / 1000,
);

const halfOpen = networkFault(
  'half-open',
  2500,
  ({ network }) => {
    const before = network.stalled();
    network.halfOpen();
    closeLater(network);
    return network.stalled() - before;
  },
  closeAfterMs / 1000,
);

const trickle = networkFault('trickle', 2500, ({ network }) => {
  network.trickle();
  return network.open();
});

const cutAfterCommit: Fault = {
  kind: 'cut-commit',
  lane: 'database',
  perRound: 2,
  inject: async ({ network, recovery, chance }) =>
    recovery.duringFault(async () => {
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
  skipReason: ({ bouncer }) => (bouncer ? undefined : 'pgbouncer is not installed'),
  inject: async ({ bouncer, chance, recovery }) => {
    await recovery.duringFault(async () => bouncer?.restart(() => delay(500 + chance.below(1500))));
    return 1;
  },
};

export const networkFaults = [refused, reset, stalled, halfOpen, trickle, cutAfterCommit, poolerKilled];
