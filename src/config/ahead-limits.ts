import { type AheadLimits, aheadLimits } from '../schedule/ahead.ts';
import { rateLimitOf } from './rate-limits.ts';
import type { Config } from './settings.ts';

/** How far ahead times may lie by the configuration; pauses by the policy of the provider that may wait longest. */
export function aheadLimitsOf({
  scheduler,
  rateLimit,
}: Pick<Config, 'scheduler' | 'rateLimit'>): AheadLimits {
  const own = Object.keys(rateLimit.providers).map((slug) => rateLimitOf(rateLimit, slug));
  return aheadLimits(scheduler, [rateLimit, ...own]);
}
