import { createRoute, z } from '@hono/zod-openapi';
import { keyJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import type { Credentials } from '../key-cache.ts';
import { id, listJson, listOf, omitUndefined, pageQuery, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const keySchema = z
  .object({
    id: id(),
    name: z.string().openapi({ example: 'deploy' }),
    prefix: z.string().openapi({ description: 'First characters of the key.', example: 'syn_ab12' }),
    scope: z.enum(['operator', 'tenant']),
    tenant_id: id().nullable(),
    created_at: time(),
    created_by: z.string(),
    parent_id: id().nullable().openapi({ description: 'The key that created it.' }),
    last_used_at: time().nullable(),
    revoked_at: time().nullable(),
  })
  .openapi('Key');

const tags = ['Keys'];
const security = signedIn;

export function keyRoutes(app: App, credentials: Credentials): void {
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
      responses: { 200: answer('A page of keys.', listOf('Key', keySchema)), ...problems() },
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
        201: answer(
          'The new key.',
          keySchema
            .extend({ key: z.string().openapi({ description: 'The key itself, returned only once.' }) })
            .openapi('NewKey'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { name, tenant_id } = c.req.valid('json');
      // A tenant's keys belong to that tenant.
      const tenantId = tenant_id ?? c.get('caller').who.tenantId;
      const created = await c.get('view').keys.create({ name, ...omitUndefined({ tenantId }) });
      return c.json({ ...keyJson(created), key: created.key }, 201);
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
        200: answer(
          'The key.',
          keySchema
            .extend({
              descendants: z.int().openapi({
                description: 'Number of valid keys created with it, directly or indirectly; at most 10,000.',
              }),
            })
            .openapi('KeyDetail'),
        ),
        ...problems(404),
      },
    }),
    async (c) => {
      const key = await c.get('view').keys.get(c.req.valid('param').id);
      return c.json({ ...keyJson(key), descendants: key.descendants }, 200);
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
      credentials.invalidate();
      return c.body(null, 204);
    },
  );
}
