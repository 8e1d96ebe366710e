import type { BackoffPolicy } from '../schedule/backoff.ts';
import type { Config } from './settings.ts';

export const rateLimitFields = [
  { key: 'baseSeconds', suffix: 'BASE_SECONDS' },
  { key: 'maxSeconds', suffix: 'MAX_SECONDS' },
  { key: 'jitterFactor', suffix: 'JITTER_FACTOR' },
] as const;

type RateLimitField = keyof BackoffPolicy;

export type ProviderRateLimit = { [Field in RateLimitField]?: number | undefined };

export function rateLimitOf(config: Config['rateLimit'], slug: string): BackoffPolicy {
  const own = entryOf(config.providers, slug)?.[1];
  return {
    baseSeconds: own?.baseSeconds ?? config.baseSeconds,
    maxSeconds: own?.maxSeconds ?? config.maxSeconds,
    jitterFactor: own?.jitterFactor ?? config.jitterFactor,
  };
}

type ProviderRateLimits = Readonly<Record<string, ProviderRateLimit>>;

/** Field by field; the first wins. */
export function mergeRateLimits(first: ProviderRateLimits, second: ProviderRateLimits): ProviderRateLimits {
  const merged: Record<string, ProviderRateLimit> = { ...second };
  for (const [slug, values] of Object.entries(first)) {
    const [key, others] = entryOf(merged, slug) ?? [slug, {}];
    merged[key] = { ...others, ...values };
  }
  return merged;
}

/** Such as SYNCLINE_RATELIMIT_GITHUB_BASE_SECONDS. */
export function rateLimitVariables(env: NodeJS.ProcessEnv) {
  return Object.entries(env).flatMap(([name, text]) => {
    const field = rateLimitFields.find(({ suffix }) => name.endsWith(`_${suffix}`));
    const provider = field && name.slice(prefix.length, -field.suffix.length - 1);
    if (!name.startsWith(prefix) || !provider || !text?.trim()) return [];
    return [{ name, provider: provider.toLowerCase(), key: field.key, text }];
  });
}

const prefix = 'SYNCLINE_RATELIMIT_';

/** google-calendar becomes GOOGLE_CALENDAR. */
const variableName = (slug: string) => slug.toUpperCase().replaceAll(/[^A-Z\d]/g, '_');

function entryOf(limits: ProviderRateLimits, slug: string): [string, ProviderRateLimit] | undefined {
  const own = Object.hasOwn(limits, slug) ? limits[slug] : undefined;
  return own ? [slug, own] : Object.entries(limits).find(([key]) => variableName(key) === variableName(slug));
}
