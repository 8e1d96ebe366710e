import { setTimeout as delay } from 'node:timers/promises';
import type { Trouble } from '../provider.ts';
import type { Fault } from '../world.ts';

const maxMs = 10_000;

/** For a while, and at least until somebody has met it. */
function trouble(kind: Trouble): Fault {
  return {
    kind: `provider-${kind}`,
    lane: 'provider',
    strike: async ({ provider, chance }) => {
      const before = provider.troubled();
      provider.trouble = { kind, percent: 20 + chance.below(60) };
      const endsAt = Date.now() + maxMs;
      await delay(1000 + chance.below(2000));
      while (provider.troubled() === before && Date.now() < endsAt) await delay(100);
      provider.trouble = undefined;
      return provider.troubled() > before ? 1 : 0;
    },
  };
}

export const providerFaults = (['error', 'reset', 'stall', 'limit'] as const).map(trouble);
