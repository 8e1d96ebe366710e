import { RateLimitedError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import type { Holding } from './holding.ts';

/** Spreads parked jobs over the next window's start. */
const spreadShare = 0.1;
const maxSpreadMs = 60_000;

export function usedUp({ budget, resetsInMs }: Holding, opensInMs: number, ports: Ports): RateLimitedError {
  const spreadMs = ports.random() * Math.min(maxSpreadMs, budget.periodSeconds * 1000 * spreadShare);
  const leftMs = resetsInMs();
  const until = new Date(Math.ceil((ports.now() + leftMs) / 1000) * 1000).toISOString().slice(11, 19);
  // Between windows none are leased: requests may count in either.
  const state = leftMs > 0 ? `is used up until ${until}Z` : 'is about to reset';
  const whose = budget.tenantId === undefined ? 'the app' : 'this credential';
  return new RateLimitedError({
    retryAfterSeconds: (opensInMs + spreadMs) / 1000,
    parked: true,
    message: `The budget ${budget.provider}/${budget.name} of ${whose} ${state}.`,
  });
}
