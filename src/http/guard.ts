import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { basePath } from 'hono/route';
import type { ClientAddress } from './client-address.ts';
import type { HttpEnv, Limits } from './context.ts';
import { type HostRule, isAllowedHost } from './hosts.ts';
import { Problem } from './problem.ts';
import type { Slots } from './request-limit.ts';
import { securityHeaders } from './security-headers.ts';

/** What every request passes before anything looks at what it asks for. */

/** The first of all, so that refusals by the others carry the headers too. */
export function secureAndLocate(givenBase: string | undefined) {
  const given = givenBase === undefined ? undefined : withoutSlash(givenBase);
  return createMiddleware<HttpEnv>(async (c, next) => {
    const mounted = withoutSlash(basePath(c));
    c.set('base', given ?? mounted);
    c.set('path', c.req.path.slice(mounted.length) || '/');
    await next();
    for (const [name, value] of Object.entries(securityHeaders))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    // Answers are about now, and some hold secrets. Only the dashboard's files say otherwise.
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store');
  });
}

export function requireHost(rule: HostRule) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    if (!isAllowedHost(c.req.header('host'), rule))
      throw new Problem('FORBIDDEN', 'This service does not answer to that host name.', {
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
      throw new Problem('INVALID_ARGUMENT', `There are more than ${queryParameters} query parameters.`);
    for (const part of [url.pathname, ...parameters]) {
      const text = decoded(part);
      if (text === undefined)
        throw new Problem('INVALID_ARGUMENT', 'The URL holds a percent sign that encodes no UTF-8 text.');
      if (text.includes('\0'))
        throw new Problem('INVALID_ARGUMENT', 'The URL contains the character NUL, which cannot be stored.');
    }
    await next();
  });
}

/** Open for as long as their readers like: they have a bound of their own. */
const streams = ['/v1/live', '/v1/signals/feed'];
/** Providers send when they like, and much at once: deliveries have bounds of their own, too. */
const delivery = /^\/v1\/webhooks\/[^/]+\/[^/]+$/;

const isDelivery = (c: Context<HttpEnv>) => c.req.method === 'POST' && delivery.test(c.get('path'));

/** Refuses work while the event loop is late: the engine shares it. Deliveries are cheap, and many senders do not send again. */
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

/** Notes what address limits are counted by. */
export function locateClient(addressOf: ClientAddress) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    c.set('address', addressOf(c) ?? 'unknown');
    await next();
  });
}

/** Whose share a request counts against: that of its caller, or of its address while it has none. */
export const holderOf = (c: Context<HttpEnv>) => c.get('caller')?.id ?? `address ${c.get('address')}`;

export interface AnswerSlots {
  callers: Slots;
  /** Requests without a caller: they take no slot that a caller could need. */
  visitors: Slots;
}

/** Holds a slot while the request is answered: its caller is known by then, and its body has been read. */
export function answerInSlot({ callers, visitors }: AnswerSlots) {
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

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function withoutSlash(path: string): string {
  const text = path.replace(/\/+$/, '');
  return text === '' || text.startsWith('/') ? text : `/${text}`;
}
