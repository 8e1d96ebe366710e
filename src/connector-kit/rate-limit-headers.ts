import type { BudgetNews } from '../contract/budget.ts';
import { secondsUntil } from '../contract/retry-after.ts';

export { secondsUntil };

/** The Date header, since the local clock may be wrong. */
export function serverTimeMs(headers: Headers, nowMs: number): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? nowMs : date;
}

export function budgetNews(headers: Headers, nowMs: number): BudgetNews {
  const serverNowMs = serverTimeMs(headers, nowMs);
  const first = (...names: string[]) => names.map((name) => headers.get(name)).find((value) => value);
  const structured = structuredNews(headers);
  return {
    limit: integerIn(first('x-ratelimit-limit', 'x-rate-limit-limit', 'ratelimit-limit')) ?? structured.limit,
    remaining:
      integerIn(first('x-ratelimit-remaining', 'x-rate-limit-remaining', 'ratelimit-remaining')) ??
      structured.remaining,
    resetsInSeconds:
      secondsUntil(
        first('x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-reset-after', 'ratelimit-reset') ??
          null,
        serverNowMs,
      ) ?? structured.resetsInSeconds,
  };
}

/** From Retry-After or an exhausted limit. */
export function retryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const retryAfter = secondsUntil(headers.get('retry-after'), serverTimeMs(headers, nowMs));
  if (retryAfter !== undefined) return retryAfter;
  const { remaining, resetsInSeconds } = budgetNews(headers, nowMs);
  return remaining === undefined || remaining <= 0 ? resetsInSeconds : undefined;
}

/** IETF draft: `RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60`. */
function structuredNews(headers: Headers): BudgetNews {
  const parameter = (header: string, name: string) =>
    integerIn(new RegExp(`;\\s*${name}=(\\d+)`).exec(headers.get(header) ?? '')?.[1]);
  return {
    limit: parameter('ratelimit-policy', 'q'),
    remaining: parameter('ratelimit', 'r'),
    resetsInSeconds: parameter('ratelimit', 't'),
  };
}

/** For `100, 100;w=60`, the first number. */
function integerIn(text: string | null | undefined): number | undefined {
  const digits = /^\s*(\d{1,15})/.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
