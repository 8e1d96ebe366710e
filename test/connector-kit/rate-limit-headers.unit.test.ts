import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  budgetNews,
  retryAfterSeconds,
  secondsUntil,
  serverTimeMs,
} from '../../src/connector-kit/rate-limit-headers.ts';
import { refusalOf } from '../../src/connector-kit/refusals.ts';

const nowMs = Date.parse('2026-03-02T09:00:00Z');
const epoch = nowMs / 1000 + 90;

describe('rate limit headers', () => {
  // Times without a zone must not depend on the machine.
  beforeEach(() => void vi.stubEnv('TZ', 'America/New_York'));
  afterEach(() => void vi.unstubAllEnvs());

  it.each([
    ['seconds', '90'],
    ['seconds with a fraction', '90.0'],
    ['an epoch in seconds', String(epoch)],
    ['an epoch in milliseconds', String(epoch * 1000)],
    ['ISO-8601', '2026-03-02T09:01:30Z'],
    ['ISO-8601 with an offset', '2026-03-02T10:01:30+01:00'],
    ['ISO-8601 without a zone, as UTC', '2026-03-02T09:01:30'],
    ['an HTTP date', 'Mon, 02 Mar 2026 09:01:30 GMT'],
    ['an HTTP date of RFC 850', 'Monday, 02-Mar-26 09:01:30 GMT'],
    ['an HTTP date of asctime, as GMT', 'Mon Mar  2 09:01:30 2026'],
    ['space around it', ' 90 '],
  ])('kit: Retry-After and reset headers accept %s', (_form, value) => {
    expect(secondsUntil(value, nowMs)).toBe(90);
    expect(retryAfterSeconds(new Headers({ 'retry-after': value }), nowMs)).toBe(90);
    for (const name of ['x-ratelimit-reset', 'x-rate-limit-reset', 'ratelimit-reset']) {
      const headers = new Headers({ 'x-ratelimit-remaining': '0', [name]: value });
      expect(budgetNews(headers, nowMs)).toEqual({ limit: undefined, remaining: 0, resetsInSeconds: 90 });
      expect(retryAfterSeconds(headers, nowMs)).toBe(90);
    }
  });

  it.each([
    ...['', ' ', 'soon', '-5', 'NaN', 'Infinity'],
    // Date.parse reads a year or a month in them.
    ...['limit 2030', 'soon 5', 'retry 3000-1-1', '120;', 'abc-5', '2026-13-45T00:00:00Z'],
  ])('kit: Retry-After %j is ignored', (value) => {
    expect(secondsUntil(value, nowMs)).toBeUndefined();
    expect(retryAfterSeconds(new Headers({ 'retry-after': value }), nowMs)).toBeUndefined();
  });

  it('kit: a time in the past yields a wait of 0 s', () => {
    expect(secondsUntil(String(epoch - 1000), nowMs)).toBe(0);
    expect(secondsUntil('Mon, 02 Mar 2026 08:00:00 GMT', nowMs)).toBe(0);
  });

  it("kit: waits are computed from the provider's Date header, not the local clock", () => {
    const headers = new Headers({
      date: 'Mon, 02 Mar 2026 09:00:00 GMT',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(epoch),
    });
    for (const localMs of [nowMs, nowMs - 3_600_000, nowMs + 86_400_000]) {
      expect(serverTimeMs(headers, localMs)).toBe(nowMs);
      expect(retryAfterSeconds(headers, localMs)).toBe(90);
    }
  });

  it('kit: a reset header is a wait only if no quota remains', () => {
    const reset = { 'x-ratelimit-reset': '90' };
    expect(retryAfterSeconds(new Headers({ ...reset, 'x-ratelimit-remaining': '7' }), nowMs)).toBeUndefined();
    expect(retryAfterSeconds(new Headers({ ...reset, 'x-ratelimit-remaining': '0' }), nowMs)).toBe(90);
    expect(retryAfterSeconds(new Headers(reset), nowMs)).toBe(90);
  });

  it('kit: parses the RateLimit structured fields of the IETF draft and lists of limits', () => {
    const structured = new Headers({
      ratelimit: '"default";r=50;t=30',
      'ratelimit-policy': '"default";q=100;w=60',
    });
    expect(budgetNews(structured, nowMs)).toEqual({ limit: 100, remaining: 50, resetsInSeconds: 30 });
    expect(budgetNews(new Headers({ 'ratelimit-limit': '100, 100;w=60' }), nowMs).limit).toBe(100);
  });
});

describe('refusals', () => {
  const refused = (status: number, headers: Record<string, string> = {}, body = '', attempts = 0) => {
    const answer = { status, headers: new Headers(headers), body, request: 'GET /things', attempts };
    const { name, ...error } = refusalOf(answer, nowMs) as Error & { retryAfterSeconds?: number };
    return error.retryAfterSeconds === undefined ? name : `${name} ${error.retryAfterSeconds}`;
  };

  it('kit: a rate limit waits as requested, otherwise 60 s doubling per attempt up to 1 h', () => {
    expect(refused(429, { 'retry-after': '5' })).toBe('RateLimitedError 5');
    expect(refused(403, { 'retry-after': '5' })).toBe('RateLimitedError 5');
    expect(refused(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(epoch) })).toBe(
      'RateLimitedError 90',
    );
    expect(refused(403, { 'x-ratelimit-remaining': '9' }, 'You have exceeded a secondary rate limit')).toBe(
      'RateLimitedError 60',
    );
    expect(refused(403, {}, 'You have triggered an abuse detection mechanism')).toBe('RateLimitedError 60');
    expect([0, 1, 2, 50].map((attempts) => refused(429, {}, '', attempts))).toEqual([
      'RateLimitedError 60',
      'RateLimitedError 120',
      'RateLimitedError 240',
      'RateLimitedError 3600',
    ]);
    // Quota remains, so the hourly reset does not apply to this refusal.
    expect(refused(429, { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': String(epoch) })).toBe(
      'RateLimitedError 60',
    );
  });

  it('kit: other statuses map to UnauthorizedError, PermanentError and TransientError', () => {
    expect(refused(401)).toBe('UnauthorizedError');
    expect(refused(403, { 'x-ratelimit-remaining': '9' }, 'Resource not accessible')).toBe('PermanentError');
    for (const status of [400, 404, 410, 422, 451]) expect(refused(status)).toBe('PermanentError');
    for (const status of [408, 425, 500, 502, 503, 504]) expect(refused(status)).toBe('TransientError');
    expect(refused(503, { 'retry-after': '7' })).toBe('RateLimitedError 7');
  });
});
