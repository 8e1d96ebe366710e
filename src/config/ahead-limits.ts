import { type AheadLimits, aheadLimits } from '../schedule/ahead.ts';
import { rateLimitOf } from './rate-limits.ts';
import type { Config } from './settings.ts';

/** Retries by the longest backoff of any provider. */
export function aheadLimitsOf({
  scheduler,
  rateLimit,
}: Pick<Config, 'scheduler' | 'rateLimit'>): AheadLimits {
  const own = Object.keys(rateLimit.providers).map((slug) => rateLimitOf(rateLimit, slug));
  return aheadLimits(scheduler, [rateLimit, ...own]);
}
