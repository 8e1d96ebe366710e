import { RateLimitedError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import type { Holding } from './holding.ts';

/** Jobs that were parked come back over this part of the next window, a minute at most, rather than in one instant. */
const spreadOfWindow = 0.1;
const maxSpreadMs = 60_000;

/** Parks the job until the budget's next window. */
export function usedUp({ budget, resetsInMs }: Holding, opensInMs: number, ports: Ports): RateLimitedError {
  const spreadMs = ports.random() * Math.min(maxSpreadMs, budget.periodSeconds * 1000 * spreadOfWindow);
  const leftMs = resetsInMs();
  const until = new Date(Math.ceil((ports.now() + leftMs) / 1000) * 1000).toISOString().slice(11, 19);
  // Between two windows nothing is given out for a moment: what is under way may count in either.
  const state = leftMs > 0 ? `is used up until ${until}Z` : 'is about to be filled again';
  const whose = budget.tenantId === undefined ? 'the app' : 'this credential';
  return new RateLimitedError({
    retryAfterSeconds: (opensInMs + spreadMs) / 1000,
    parked: true,
    message: `The budget ${budget.provider}/${budget.name} of ${whose} ${state}.`,
  });
}
