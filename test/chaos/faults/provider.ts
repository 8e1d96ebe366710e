import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import type { ProviderFault } from '../provider.ts';

const maxMs = 10_000;

/** Lasts at least until one request was affected. */
function providerFault(kind: ProviderFault): Fault {
  return {
    kind: `provider-${kind}`,
    lane: 'provider',
    inject: async ({ provider, chance }) => {
      const before = provider.faultCount();
      provider.fault = { kind, percent: 20 + chance.below(60) };
      const endsAt = Date.now() + maxMs;
      await delay(1000 + chance.below(2000));
      while (provider.faultCount() === before && Date.now() < endsAt) await delay(100);
      provider.fault = undefined;
      return provider.faultCount() > before ? 1 : 0;
    },
  };
}

export const providerFaults = (['error', 'reset', 'stall', 'limit'] as const).map(providerFault);
