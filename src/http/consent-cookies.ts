import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Config } from '../config/settings.ts';
import { authorizationTtlMs } from '../index.ts';
import type { HttpEnv } from './context.ts';
import { ownUrl } from './own-url.ts';

export const consentPath = '/v1/connections/consent';
export const callbackPath = '/v1/connections/callback';

const visitorName = 'syncline_consent';
const visitorPattern = /^[\w-]{43}$/;

/** Several authorizations may be in progress. */
const boundName = (state: string) =>
  `${visitorName}_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;

/** CSRF token of the form. */
export const formToken = (visitor: string, link: string) => deriveSecret(visitor, `form ${link}`);
/** Identifies the browser in the callback. */
export const browserProof = (visitor: string, link: string) => deriveSecret(visitor, `callback ${link}`);

const deriveSecret = (visitor: string, purpose: string) =>
  createHmac('sha256', visitor).update(purpose).digest('base64url');

export function isFormToken(token: string, visitor: string, link: string): boolean {
  const [actual, expected] = [Buffer.from(token), Buffer.from(formToken(visitor, link))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

export function consentCookies(c: Context<HttpEnv>, config: Config['server']) {
  // A proxy may rewrite the path.
  const own = new URL(ownUrl(c, config));
  const isEncrypted = own.protocol === 'https:';
  // Sibling subdomains cannot set __Host- cookies, which need path /.
  const prefixed = (name: string) => (isEncrypted ? `__Host-${name}` : name);
  const visitorCookie = prefixed(visitorName);
  const boundCookie = (state: string) => prefixed(boundName(state));
  const attributes = (path: string) => ({
    path: isEncrypted ? '/' : `${own.pathname.replace(/\/+$/, '')}${path}`,
    httpOnly: true,
    secure: isEncrypted || c.req.header('x-forwarded-proto') === 'https',
    maxAge: authorizationTtlMs / 1000,
  });
  const existingVisitor = () => {
    const value = getCookie(c, visitorCookie);
    return value !== undefined && visitorPattern.test(value) ? value : undefined;
  };
  return {
    existingVisitor,
    visitor(): string {
      const value = existingVisitor() ?? randomBytes(32).toString('base64url');
      setCookie(c, visitorCookie, value, { ...attributes(consentPath), sameSite: 'Strict' });
      return value;
    },
    /** Lax: the provider redirects back. */
    bind: (state: string, proof: string) =>
      setCookie(c, boundCookie(state), proof, { ...attributes(callbackPath), sameSite: 'Lax' }),
    bound: (state: string) => getCookie(c, boundCookie(state)),
    release: (state: string) => void deleteCookie(c, boundCookie(state), attributes(callbackPath)),
  };
}
