import { z } from 'zod';
import { type ProviderRateLimit, rateLimitFields } from '../rate-limits.ts';
import { fraction, integer, setting } from '../setting.ts';

export const rateLimit = {
  baseSeconds: integer({
    env: 'SYNCLINE_RATELIMIT_BASE_SECONDS',
    default: 5,
    min: 1,
    max: 3600,
    unit: 'seconds',
    about: 'Delay after the first failure; doubles with each further failure.',
  }),
  maxSeconds: integer({
    env: 'SYNCLINE_RATELIMIT_MAX_SECONDS',
    default: 900,
    min: 1,
    max: 86_400,
    unit: 'seconds',
    about:
      'Longest delay before a retry, unless the provider requests more. Too low: more load on a failing ' +
      'provider. Too high: recovery is noticed late.',
  }),
  jitterFactor: fraction({
    env: 'SYNCLINE_RATELIMIT_JITTER_FACTOR',
    default: 0.1,
    about:
      'Maximum random addition to a delay, as a fraction of it. Too low: connections that failed ' +
      'together retry together.',
  }),
  providers: setting<Readonly<Record<string, ProviderRateLimit>>>(
    {
      env: rateLimitFields.map(({ suffix }) => `SYNCLINE_RATELIMIT_<PROVIDER>_${suffix}`),
      default: {},
      about:
        'Overrides per provider, by slug: { github: { baseSeconds: 60 } }. In variable names, write the slug ' +
        'in capitals, with _ instead of any character but letters and digits.',
    },
    {
      schema: z.record(
        z.string(),
        z.strictObject({
          baseSeconds: z.number().int().min(1).max(3600).optional(),
          maxSeconds: z.number().int().min(1).max(86_400).optional(),
          jitterFactor: z.number().min(0).max(1).optional(),
        }),
      ),
      allowed:
        'an object of providers, each with baseSeconds (1 to 3600), maxSeconds (1 to 86400) or ' +
        'jitterFactor (0 to 1)',
      fromText: (text) => text,
    },
  ),
};
