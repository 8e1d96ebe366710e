import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { createMiddleware } from 'hono/factory';
import type { Caller, SynclineApi } from '../index.ts';
import type { HttpEnv, RequestCaller } from './context.ts';
import type { Authenticate } from './handler-options.ts';
import type { KeyCache, SecretKind } from './key-cache.ts';
import { Problem } from './problem.ts';
import { sessionCookie } from './session-cookie.ts';

export interface AuthOptions {
  viewOf: (caller: Caller) => SynclineApi;
  keyCache: KeyCache;
  authenticate?: Authenticate | undefined;
}

/** Handlers reach a tenant's data only through `view`. */
export function requireCaller({ viewOf, keyCache, authenticate }: AuthOptions) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const caller = await findCaller(c);
    c.set('caller', caller);
    c.set('view', viewOf(caller));
    await next();
  });

  async function findCaller(c: Context<HttpEnv>): Promise<RequestCaller> {
    const authorization = c.req.header('authorization');
    const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (bearer?.startsWith('syn_')) {
      const caller = await bySecret(c, 'key', bearer);
      if (caller) return caller;
      throw unauthenticated('The API key is unknown or was revoked.');
    }
    const host = await byHost(c);
    if (host) {
      requireIntent(c);
      return host;
    }
    if (authorization !== undefined) {
      // Recorded and counted as a wrong key, as at login; with `authenticate` it may be the application's token.
      if (bearer !== undefined && !authenticate) await bySecret(c, 'key', bearer);
      throw unauthenticated('The Authorization header does not contain an API key.');
    }
    const token = getCookie(c, sessionCookie);
    const session = token === undefined ? undefined : await bySecret(c, 'session', token);
    if (!session)
      throw unauthenticated(token === undefined ? 'An API key is required.' : 'The session has ended.');
    requireIntent(c);
    return session;
  }

  async function bySecret(
    c: Context<HttpEnv>,
    kind: SecretKind,
    secret: string,
  ): Promise<RequestCaller | undefined> {
    const address = c.get('address');
    const identify = () => keyCache.identify(kind, secret, address);
    const caller = await identify();
    return (
      caller && {
        ...caller,
        // A tenant can create any number of keys: they share its limits.
        id: caller.tenantId ?? caller.keyId ?? caller.actor,
        isStillAllowed: async () => (await identify()) !== undefined,
      }
    );
  }

  /** The body can be read only once. */
  async function byHost(c: Context<HttpEnv>): Promise<RequestCaller | undefined> {
    if (!authenticate) return undefined;
    const { method, headers } = c.req.raw;
    const identify = async () => authenticate(new Request(c.req.url, { method, headers }));
    const caller = await identify();
    if (!caller) return undefined;
    // A spread would lose a `tenantId` getter.
    const { tenantId, actor, keyId } = caller;
    return {
      tenantId,
      actor,
      keyId,
      id: tenantId ?? actor,
      isStillAllowed: async () => sameScope(tenantId, await identify()),
    };
  }
}

/** The engine also checks, after validation. */
export const operatorOnly = createMiddleware<HttpEnv>(async (c, next) => {
  if (c.get('caller').tenantId !== undefined)
    throw new Problem('FORBIDDEN', 'This requires an operator key; the caller has a tenant key.');
  await next();
});

/** CSRF: only this origin's pages can set a custom header. */
function requireIntent(c: Context<HttpEnv>): void {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return;
  if (c.req.header('x-syncline-request') !== '1')
    throw new Problem('FORBIDDEN', 'Changes made with a session require the header x-syncline-request: 1.', {
      hint: 'Send the header, or use an API key: Authorization: Bearer syn_…',
    });
  requireOwnOrigin(c);
}

export function requireOwnOrigin(c: Context<HttpEnv>): void {
  const origin = c.req.header('origin');
  if (origin === undefined) return;
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  if (host === undefined || host !== c.req.header('host')?.toLowerCase())
    throw new Problem('FORBIDDEN', 'The request comes from another origin.');
}

export function unauthenticated(detail: string): Problem {
  return new Problem('UNAUTHENTICATED', detail, {
    hint: 'Send an API key in the header Authorization: Bearer syn_…',
    headers: { 'www-authenticate': 'Bearer realm="syncline"' },
  });
}

function sameScope(tenantId: string | undefined, now: Caller | undefined): boolean {
  return now !== undefined && now.tenantId === tenantId;
}
