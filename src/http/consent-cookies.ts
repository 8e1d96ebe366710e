import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Config } from '../config/settings.ts';
import { validMs } from '../credentials/index.ts';
import type { HttpEnv } from './context.ts';
import { ownUrl } from './own-url.ts';

export const consentPath = '/v1/connections/consent';
export const callbackPath = '/v1/connections/callback';

/** Set with the page, sent only by requests that the page itself makes. */
const visitorName = 'syncline_consent';
const visitorPattern = /^[\w-]{43}$/;

/** One for each authorization: several may be under way in one browser. */
const boundName = (state: string) =>
  `${visitorName}_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`;

/** What the form of one page in one browser sends. Another site can read neither page nor cookie, so it cannot make it. */
export const formToken = (visitor: string, link: string) => derived(visitor, `form ${link}`);
/** What the same browser shows when it comes back: another secret for every link. */
export const browserProof = (visitor: string, link: string) => derived(visitor, `callback ${link}`);

const derived = (visitor: string, purpose: string) =>
  createHmac('sha256', visitor).update(purpose).digest('base64url');

export function isFormToken(token: string, visitor: string, link: string): boolean {
  const [given, expected] = [Buffer.from(token), Buffer.from(formToken(visitor, link))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The cookies that bind a consent to a browser. They live as long as an authorization may. */
export function consentCookies(c: Context<HttpEnv>, config: Config['server']) {
  // The path as browsers see it, which a proxy may have changed on the way here.
  const own = new URL(ownUrl(c, config));
  const isEncrypted = own.protocol === 'https:';
  // Browsers accept a __Host- cookie only from this very host, so that no sibling subdomain can set one. It needs the path /.
  const named = (name: string) => (isEncrypted ? `__Host-${name}` : name);
  const visitorCookie = named(visitorName);
  const boundCookie = (state: string) => named(boundName(state));
  const at = (path: string) => ({
    path: isEncrypted ? '/' : `${own.pathname.replace(/\/+$/, '')}${path}`,
    httpOnly: true,
    secure: isEncrypted || c.req.header('x-forwarded-proto') === 'https',
    maxAge: validMs / 1000,
  });
  const known = () => {
    const value = getCookie(c, visitorCookie);
    return value !== undefined && visitorPattern.test(value) ? value : undefined;
  };
  return {
    known,
    /** The secret of this browser; a new one unless it has one. */
    visitor(): string {
      const value = known() ?? randomBytes(32).toString('base64url');
      setCookie(c, visitorCookie, value, { ...at(consentPath), sameSite: 'Strict' });
      return value;
    },
    /** Lax, because the provider's page is what leads back. */
    bind: (state: string, proof: string) =>
      setCookie(c, boundCookie(state), proof, { ...at(callbackPath), sameSite: 'Lax' }),
    bound: (state: string) => getCookie(c, boundCookie(state)),
    release: (state: string) => void deleteCookie(c, boundCookie(state), at(callbackPath)),
  };
}
