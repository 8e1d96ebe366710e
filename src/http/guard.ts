import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { ClientAddress } from './client-address.ts';
import type { HttpEnv, Limits } from './context.ts';
import { type HostRule, isAllowedHost } from './hosts.ts';
import { withoutSlash } from './mount-path.ts';
import { Problem } from './problem.ts';
import type { Slots } from './request-limit.ts';
import { securityHeaders } from './security-headers.ts';

/** First: errors need the headers too. */
export function secureAndLocate(configuredBase: string | undefined) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    c.set('base', withoutSlash(configuredBase ?? c.env?.mountPath ?? ''));
    c.set('path', c.req.path);
    await next();
    for (const [name, value] of Object.entries(securityHeaders))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    // Responses may contain secrets.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store');
  });
}

export function requireHost(rule: HostRule) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (!isAllowedHost(c.req.header('host'), rule))
      throw new Problem('FORBIDDEN', 'The Host header is not allowed.', {
        hint: 'Use localhost, or add the name to SYNCLINE_SERVER_HOSTS.',
      });
    await next();
  });
}

export function requireReadableUrl({ urlLength, queryParameters }: Limits) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const url = new URL(c.req.url);
    if (url.pathname.length + url.search.length > urlLength)
      throw new Problem('TOO_LARGE', `The URL is longer than ${urlLength} characters.`, { status: 414 });
    const parameters = url.search.split('&');
    if (parameters.length > queryParameters)
      throw new Problem('INVALID_ARGUMENT', `The URL has more than ${queryParameters} query parameters.`);
    for (const part of [url.pathname, ...parameters]) {
      const text = tryDecode(part);
      if (text === undefined)
        throw new Problem('INVALID_ARGUMENT', 'The URL contains invalid percent-encoding.');
      if (text.includes('\0')) throw new Problem('INVALID_ARGUMENT', 'The URL contains a NUL character.');
    }
    await next();
  });
}

/** Long-lived: own limit. */
const streams = ['/v1/live', '/v1/signals/feed'];
/** Bursts: own limit. */
const delivery = /^\/v1\/webhooks\/[^/]+\/[^/]+$/;

const isDelivery = (c: Context<HttpEnv>) => c.req.method === 'POST' && delivery.test(c.get('path'));

/** The engine shares the event loop. Deliveries are cheap and often not retried. */
export function shedLoad(loopDelayMs: () => number, maxDelayMs: number) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (loopDelayMs() > maxDelayMs && !isDelivery(c))
      throw new Problem('TOO_MANY', 'The service is overloaded.', {
        status: 503,
        headers: { 'retry-after': '2' },
      });
    await next();
  });
}

export function setClientAddress(addressOf: ClientAddress) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    c.set('address', addressOf(c) ?? 'unknown');
    await next();
  });
}

export const holderOf = (c: Context<HttpEnv>) => c.get('caller')?.id ?? `address ${c.get('address')}`;

export interface RequestSlots {
  callers: Slots;
  /** Cannot starve callers. */
  visitors: Slots;
}

/** After authentication, with the body read. */
export function withRequestSlot({ callers, visitors }: RequestSlots) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (c.get('hasSlot') || streams.includes(c.get('path'))) return next();
    const release = (c.get('caller') ? callers : visitors).take(holderOf(c));
    c.set('hasSlot', true);
    try {
      await next();
    } finally {
      release();
    }
  });
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
