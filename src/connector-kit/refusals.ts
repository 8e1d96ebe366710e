import { PermanentError, RateLimitedError, TransientError, UnauthorizedError } from '../contract/errors.ts';
import { secretName } from '../values/redact.ts';
import { budgetNews, retryAfterSeconds } from './rate-limit-headers.ts';

/** An answer that is no success, read to its end. */
export interface ReceivedAnswer {
  status: number;
  headers: Headers;
  /** Its beginning. */
  body: string;
  /** What was asked, for people. */
  request: string;
  /** Earlier failures of the job. */
  attempts: number;
}

/** A provider that limits without saying for how long is left alone for a minute at least, and longer each time. */
const unsaidSeconds = 60;
const maxUnsaidSeconds = 3600;

/** What an answer that is no success means. */
export function refusalOf(answer: ReceivedAnswer, nowMs: number): Error {
  const { status, headers } = answer;
  const said = `${answer.request} was answered with ${status}${excerpt(answer.body)}`;
  const seconds = waitSeconds(answer, nowMs);
  if (seconds !== undefined) {
    return new RateLimitedError({
      retryAfterSeconds: seconds,
      message: `${said} The provider asks to wait ${Math.ceil(seconds)} s.`,
    });
  }
  if (status === 401) return new UnauthorizedError(`The provider refuses the credential: ${said}`);
  if (status === 403) return new PermanentError(`The credential does not allow this: ${said}`);
  if (status === 503 && headers.has('retry-after'))
    return new RateLimitedError({ retryAfterSeconds: retryAfterSeconds(headers, nowMs), message: said });
  if (status === 408 || status === 425 || status >= 500) return new TransientError(said);
  return new PermanentError(said);
}

/** How long an answer that limits the rate asks to wait; undefined for all others. */
export function waitSeconds(answer: Omit<ReceivedAnswer, 'request'>, nowMs: number): number | undefined {
  if (!isRateLimit(answer, nowMs)) return undefined;
  return retryAfterSeconds(answer.headers, nowMs) ?? unsaid(answer.attempts);
}

/** 429, and a 403 that says when to come back, that nothing is left, or that too much was asked in too short a time. */
function isRateLimit({ status, headers, body }: Omit<ReceivedAnswer, 'request'>, nowMs: number): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  if (headers.has('retry-after') || budgetNews(headers, nowMs).remaining === 0) return true;
  return /rate.?limit|limits?.?exceeded|quota.?exceeded|too many requests|abuse detection/i.test(body);
}

const unsaid = (attempts: number) => Math.min(unsaidSeconds * 2 ** Math.min(attempts, 10), maxUnsaidSeconds);

const name = `[\\w.-]{0,40}(?:${secretName.source})[\\w.-]{0,40}`;
const inJson = new RegExp(`("${name}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'gi');
const inForm = new RegExp(`(?<![\\w.-])(${name}=)[^\\s&"'<>]+`, 'gi');

/** An answer may hold a secret that nobody here knows yet: `"access_token": "…"`, `access_token=…`. */
export const withoutNamed = (text: string) =>
  text.replaceAll(inJson, '$1[hidden]').replaceAll(inForm, '$1[hidden]');

/** Of which the beginning is shown, so that a secret is hidden whole. */
const maxLookedAt = 4000;

/** What providers say of mistakes is short; a page of HTML is not, and says nothing. */
export function excerpt(body: string): string {
  const text = withoutNamed(body.slice(0, maxLookedAt).trim().replaceAll(/\s+/g, ' '));
  if (text === '' || text.startsWith('<')) return '.';
  return `: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}
