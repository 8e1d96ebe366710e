import type { BudgetNews } from '../contract/budget.ts';
import { secondsUntil } from '../contract/retry-after.ts';

export { secondsUntil };

/** What providers say of their limits, in all the forms in which they say it. */

/** By the provider's own clock where it says what time it is, so that ours may be wrong. */
export function serverTimeMs(headers: Headers, nowMs: number): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? nowMs : date;
}

/** What the headers of an answer say of the budget that it was paid from. */
export function budgetNews(headers: Headers, nowMs: number): BudgetNews {
  const serverNowMs = serverTimeMs(headers, nowMs);
  const first = (...names: string[]) => names.map((name) => headers.get(name)).find((value) => value);
  const structured = structuredNews(headers);
  return {
    limit: whole(first('x-ratelimit-limit', 'x-rate-limit-limit', 'ratelimit-limit')) ?? structured.limit,
    remaining:
      whole(first('x-ratelimit-remaining', 'x-rate-limit-remaining', 'ratelimit-remaining')) ??
      structured.remaining,
    resetsInSeconds:
      secondsUntil(
        first('x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-reset-after', 'ratelimit-reset') ??
          null,
        serverNowMs,
      ) ?? structured.resetsInSeconds,
  };
}

/** How long to wait after an answer that says so; undefined where it does not. */
export function retryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const asked = secondsUntil(headers.get('retry-after'), serverTimeMs(headers, nowMs));
  if (asked !== undefined) return asked;
  const { remaining, resetsInSeconds } = budgetNews(headers, nowMs);
  return remaining === undefined || remaining <= 0 ? resetsInSeconds : undefined;
}

/** `RateLimit: "default";r=50;t=30` with `RateLimit-Policy: "default";q=100;w=60`, of the IETF's draft. */
function structuredNews(headers: Headers): BudgetNews {
  const parameter = (header: string, name: string) =>
    whole(new RegExp(`;\\s*${name}=(\\d+)`).exec(headers.get(header) ?? '')?.[1]);
  return {
    limit: parameter('ratelimit-policy', 'q'),
    remaining: parameter('ratelimit', 'r'),
    resetsInSeconds: parameter('ratelimit', 't'),
  };
}

/** Some send `100, 100;w=60`: the first number counts. */
function whole(text: string | null | undefined): number | undefined {
  const digits = /^\s*(\d{1,15})/.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
