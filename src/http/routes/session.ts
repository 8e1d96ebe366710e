import { createRoute, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { type Access, meJson, type Syncline, type SynclineApi, scopeOf } from '../../index.ts';
import { requireOwnOrigin, unauthenticated } from '../auth.ts';
import type { App, HttpEnv } from '../context.ts';
import type { KeyCache } from '../key-cache.ts';
import { schemaOf } from '../model-schema.ts';
import { strict } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';
import { deleteSessionCookie, sessionCookie, setSessionCookie } from '../session-cookie.ts';

const tags = ['Session'];

async function me(view: SynclineApi, version: string) {
  const { tenantId, actor } = view.caller;
  const tenant = tenantId === undefined ? undefined : await view.tenants.get(tenantId);
  return meJson({ scope: scopeOf(view.caller), tenantId, tenantName: tenant?.name, actor, version });
}

export interface LoginParts {
  syncline: Syncline;
  keyCache: KeyCache;
  version: string;
  middleware: MiddlewareHandler<HttpEnv>[];
}

export function loginRoute(app: App, { syncline, keyCache, version, middleware }: LoginParts): void {
  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/session',
      operationId: 'openSession',
      middleware,
      tags,
      security: [],
      summary: 'Log in with an API key',
      description: 'Opens a browser session and sets its cookie.',
      request: {
        body: body(strict({ key: z.string().trim().min(1).max(500).openapi({ example: 'syn_…' }) })),
      },
      responses: { 200: answer('The caller.', schemaOf(meJson)), ...bodyProblems() },
    }),
    async (c) => {
      requireOwnOrigin(c);
      const identity = await keyCache.identify('key', c.req.valid('json').key, c.get('address'));
      if (!identity) throw unauthenticated('The API key is unknown or was revoked.');
      setSessionCookie(c, await syncline.access.openSession(identity, { address: c.get('address') }));
      return c.json(await me(syncline.as(identity), version), 200);
    },
  );
}

export function sessionRoutes(app: App, access: Access, keyCache: KeyCache, version: string): void {
  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/session',
      operationId: 'closeSession',
      tags,
      security: signedIn,
      summary: 'Log out',
      description: 'Ends the session. The API key stays valid.',
      responses: { 204: nothing('Logged out.'), ...problems() },
    }),
    async (c) => {
      await closeSession(c, access, keyCache);
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/me',
      operationId: 'getMe',
      tags,
      security: signedIn,
      summary: 'Show the caller',
      description: 'Scope, tenant and audit name of the key or session.',
      request: { query: strict({}) },
      responses: { 200: answer('The caller.', schemaOf(meJson)), ...problems() },
    }),
    async (c) => c.json(await me(c.get('view'), version), 200),
  );
}

async function closeSession(c: Context<HttpEnv>, access: Access, keyCache: KeyCache): Promise<void> {
  const token = getCookie(c, sessionCookie);
  if (token === undefined) return;
  await access.closeSession(token);
  keyCache.invalidate();
  deleteSessionCookie(c);
}
