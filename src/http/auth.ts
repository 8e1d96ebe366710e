import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { createMiddleware } from 'hono/factory';
import type { View } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Authenticate, HttpEnv, RequestCaller } from './context.ts';
import type { Credentials, SecretKind } from './key-cache.ts';
import { Problem } from './problem.ts';
import { sessionCookie } from './session-cookie.ts';

export interface AuthOptions {
  viewOf: (who: Caller) => View;
  credentials: Credentials;
  authenticate?: Authenticate | undefined;
}

/** Finds out who asks, and hands the handlers what that caller may see: there is no other way to the engine for them. */
export function requireCaller({ viewOf, credentials, authenticate }: AuthOptions) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const caller = await findCaller(c);
    c.set('caller', caller);
    c.set('view', viewOf(caller.who));
    await next();
  });

  async function findCaller(c: Context<HttpEnv>): Promise<RequestCaller> {
    const authorization = c.req.header('authorization');
    const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (bearer?.startsWith('syn_')) {
      const caller = await bySecret(c, 'key', bearer);
      if (caller) return caller;
      throw unauthenticated('This API key is not known, or was revoked.');
    }
    const host = await byHost(c);
    if (host) {
      requireIntent(c);
      return host;
    }
    if (authorization !== undefined)
      throw unauthenticated('The Authorization header does not hold an API key.');
    const token = getCookie(c, sessionCookie);
    const session = token === undefined ? undefined : await bySecret(c, 'session', token);
    if (!session)
      throw unauthenticated(token === undefined ? 'This needs an API key.' : 'The session has ended.');
    requireIntent(c);
    return session;
  }

  async function bySecret(
    c: Context<HttpEnv>,
    kind: SecretKind,
    secret: string,
  ): Promise<RequestCaller | undefined> {
    const address = c.get('address');
    const identify = () => credentials.identify(kind, secret, address);
    const who = await identify();
    return (
      who && {
        who,
        // A tenant makes keys as it likes: however many it has, it is one caller.
        id: who.tenantId ?? who.keyId ?? who.actor,
        isStillAllowed: async () => (await identify()) !== undefined,
      }
    );
  }

  /** Asks the application that this is mounted in. It gets no body, since that can be read only once. */
  async function byHost(c: Context<HttpEnv>): Promise<RequestCaller | undefined> {
    if (!authenticate) return undefined;
    const { method, headers } = c.req.raw;
    const ask = async () => authenticate(new Request(c.req.url, { method, headers }));
    const who = await ask();
    return (
      who && {
        who,
        id: `${who.tenantId ?? ''} ${who.actor}`,
        isStillAllowed: async () => sameScope(who, await ask()),
      }
    );
  }
}

/** For what concerns all tenants. The engine refuses it too; here it is refused before the request is even read. */
export const operatorOnly = createMiddleware<HttpEnv>(async (c, next) => {
  if (c.get('caller').who.tenantId !== undefined)
    throw new Problem('FORBIDDEN', 'This needs a key of an operator; yours is of a tenant.');
  await next();
});

/**
 * Browsers send cookies along whoever made them ask. Only a page from here can set a header of its own, and what it
 * sends has this origin.
 */
function requireIntent(c: Context<HttpEnv>): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return;
  if (c.req.header('x-syncline-request') !== '1')
    throw new Problem(
      'FORBIDDEN',
      'A change that is made with a session needs the header x-syncline-request: 1.',
      {
        hint: 'Send it, or use an API key: Authorization: Bearer syn_…',
      },
    );
  requireOwnOrigin(c);
}

export function requireOwnOrigin(c: Context<HttpEnv>): void {
  const origin = c.req.header('origin');
  if (origin === undefined) return;
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  if (host === undefined || host !== c.req.header('host')?.toLowerCase())
    throw new Problem('FORBIDDEN', 'The request comes from a page of another origin.');
}

export function unauthenticated(detail: string): Problem {
  return new Problem('UNAUTHENTICATED', detail, {
    hint: 'Send an API key with the header Authorization: Bearer syn_…',
    headers: { 'www-authenticate': 'Bearer realm="syncline"' },
  });
}

function sameScope(before: Caller, now: Caller | undefined): boolean {
  return now !== undefined && now.tenantId === before.tenantId;
}
