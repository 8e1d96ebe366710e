import { PermanentError, RateLimitedError, TransientError, UnauthorizedError } from '../contract/errors.ts';
import { redactNamed } from '../values/redact.ts';
import { budgetNews, retryAfterSeconds } from './rate-limit-headers.ts';

export interface ReceivedAnswer {
  status: number;
  headers: Headers;
  /** Up to 64 kB of the body. */
  body: string;
  /** Method and URL, redacted. */
  request: string;
  /** Earlier failures of the job. */
  attempts: number;
}

/** Without a hint. */
const defaultWaitSeconds = 60;
const maxDefaultWaitSeconds = 3600;

export function refusalOf(answer: ReceivedAnswer, nowMs: number): Error {
  const { status, headers } = answer;
  const summary = `${answer.request} returned ${status}${excerpt(answer.body)}`;
  const seconds = rateLimitSeconds(answer, nowMs);
  if (seconds !== undefined) {
    return new RateLimitedError({
      retryAfterSeconds: seconds,
      message: `${summary} Retry after ${Math.ceil(seconds)} s.`,
    });
  }
  if (status === 401) return new UnauthorizedError(`The provider rejected the credential: ${summary}`);
  if (status === 403) return new PermanentError(`The credential does not allow this: ${summary}`);
  if (status === 503 && headers.has('retry-after'))
    return new RateLimitedError({ retryAfterSeconds: retryAfterSeconds(headers, nowMs), message: summary });
  if (status === 408 || status === 425 || status >= 500) return new TransientError(summary);
  return new PermanentError(summary);
}

/** Undefined unless rate limited. */
export function rateLimitSeconds(answer: Omit<ReceivedAnswer, 'request'>, nowMs: number): number | undefined {
  if (!isRateLimit(answer, nowMs)) return undefined;
  return retryAfterSeconds(answer.headers, nowMs) ?? defaultWait(answer.attempts);
}

function isRateLimit({ status, headers, body }: Omit<ReceivedAnswer, 'request'>, nowMs: number): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  if (headers.has('retry-after') || budgetNews(headers, nowMs).remaining === 0) return true;
  return /rate.?limit|limits?.?exceeded|quota.?exceeded|too many requests|abuse detection/i.test(body);
}

const defaultWait = (attempts: number) =>
  Math.min(defaultWaitSeconds * 2 ** Math.min(attempts, 10), maxDefaultWaitSeconds);

/** Longer than the excerpt: a secret at the cut is redacted whole. */
const maxScannedLength = 4000;

/** HTML pages are omitted. */
export function excerpt(body: string): string {
  const text = redactNamed(body.slice(0, maxScannedLength).trim().replaceAll(/\s+/g, ' '));
  if (text === '' || text.startsWith('<')) return '.';
  return `: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}
