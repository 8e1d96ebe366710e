import type { Context } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import type { HttpEnv } from './context.ts';

export const sessionCookie = 'syncline_session';

export function setSessionCookie(c: Context<HttpEnv>, session: { token: string; expiresAt: Date }): void {
  setCookie(c, sessionCookie, session.token, { ...attributes(c), expires: session.expiresAt });
}

export function deleteSessionCookie(c: Context<HttpEnv>): void {
  deleteCookie(c, sessionCookie, attributes(c));
}

function attributes(c: Context<HttpEnv>) {
  // Forging it makes only the sender's cookie stricter.
  const isEncrypted =
    new URL(c.req.url).protocol === 'https:' || c.req.header('x-forwarded-proto') === 'https';
  return { path: c.get('base') || '/', httpOnly: true, sameSite: 'Strict', secure: isEncrypted } as const;
}
