import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Access } from '../../index.ts';
import type { App, HttpEnv } from '../context.ts';
import type { KeyCache } from '../key-cache.ts';
import { type LocalLogin, loginTokenSeconds } from '../local-login.ts';
import { page } from '../page.ts';
import { Problem } from '../problem.ts';
import { sessionCookie, setSessionCookie } from '../session-cookie.ts';

export function localLoginRoute(
  app: App,
  { access, keyCache, localLogin }: { access: Access; keyCache: KeyCache; localLogin: LocalLogin },
): void {
  // `syncline dashboard` reads the secret from a file.
  app.post('/login/tokens', (c) => {
    const bearer = /^Bearer (\S+)$/.exec(c.req.header('authorization') ?? '')?.[1] ?? '';
    if (!localLogin.isSecret(bearer)) throw new Problem('UNAUTHENTICATED', 'The secret is wrong.');
    return c.json({ token: localLogin.issue(), expires_in_seconds: loginTokenSeconds }, 201);
  });

  app.get('/login', async (c) => {
    const home = `${c.get('base')}/`;
    // Link previews send HEAD: keep the token.
    if (c.req.method === 'HEAD') return c.redirect(home, 303);
    if (localLogin.redeem(c.req.query('token') ?? '')) {
      const identity = { tenantId: undefined, actor: 'local', keyId: undefined, keyName: 'one-time token' };
      setSessionCookie(c, await access.openSession(identity, { address: c.get('address') }));
      return c.redirect(home, 303);
    }
    // Opened again in the same browser.
    if (await hasSession(c, keyCache)) return c.redirect(home, 303);
    const detail = 'The link was already used or is older than 15 minutes.';
    const hint = 'Run `syncline dashboard` for a new link, or log in with an API key.';
    if (c.req.header('accept')?.includes('text/html'))
      return c.html(page('Not logged in', [detail, hint], { link: home, label: 'Log in' }), 401);
    throw new Problem('UNAUTHENTICATED', detail, { hint });
  });
}

async function hasSession(c: Context<HttpEnv>, keyCache: KeyCache): Promise<boolean> {
  const token = getCookie(c, sessionCookie);
  return token !== undefined && (await keyCache.identify('session', token, c.get('address'))) !== undefined;
}
