import { createRoute, z } from '@hono/zod-openapi';
import { keyDetailJson, keyJson, newKeyJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import type { KeyCache } from '../key-cache.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { id, listJson, pageQuery, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Keys'];
const security = signedIn;

export function keyRoutes(app: App, keyCache: KeyCache): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/keys',
      operationId: 'listKeys',
      tags,
      security,
      summary: 'List API keys',
      description: 'With prefixes, not the keys themselves.',
      request: { query: strict(pageQuery) },
      responses: { 200: answer('A page of keys.', listOf(keyJson)), ...problems() },
    }),
    async (c) =>
      c.json(listJson(await c.get('view').keys.list(omitUndefined(c.req.valid('query'))), keyJson), 200),
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/keys',
      operationId: 'createKey',
      tags,
      security,
      summary: 'Create an API key',
      description:
        'Only this response contains the key. ' +
        'The name must be unique among the valid keys of its scope (operator, or one tenant); otherwise 409.',
      request: {
        body: body(
          strict({
            name: text(100).openapi({ example: 'deploy' }),
            tenant_id: id()
              .nullable()
              .optional()
              .openapi({ description: 'Tenant of the key; null or absent: an operator key.' }),
          }),
        ),
      },
      responses: {
        201: answer('The new key.', schemaOf(newKeyJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { name, tenant_id } = c.req.valid('json');
      const tenantId = tenant_id ?? c.get('caller').tenantId;
      const created = await c.get('view').keys.create({ name, ...omitUndefined({ tenantId }) });
      return c.json(newKeyJson(created), 201);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/keys/{id}',
      operationId: 'getKey',
      tags,
      security,
      summary: 'Show an API key',
      description: 'With its prefix, not the key itself.',
      request: { params: z.object({ id: id() }) },
      responses: {
        200: answer('The key.', schemaOf(keyDetailJson)),
        ...problems(404),
      },
    }),
    async (c) => {
      const key = await c.get('view').keys.get(c.req.valid('param').id);
      return c.json(keyDetailJson(key), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/keys/{id}',
      operationId: 'revokeKey',
      tags,
      security,
      summary: 'Revoke an API key',
      description:
        'The key and its sessions stop working within seconds. ' +
        'With `descendants`, all keys created with it, directly or indirectly, are revoked too.',
      request: {
        params: z.object({ id: id() }),
        query: strict({
          descendants: z.enum(['true', 'false']).optional().openapi({
            description: 'Also revoke all keys created with it.',
          }),
        }),
      },
      responses: { 204: nothing('Revoked.'), ...problems(404) },
    }),
    async (c) => {
      const descendants = c.req.valid('query').descendants === 'true';
      await c.get('view').keys.revoke(c.req.valid('param').id, { descendants });
      keyCache.invalidate();
      return c.body(null, 204);
    },
  );
}
