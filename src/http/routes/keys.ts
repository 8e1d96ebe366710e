import { createRoute, z } from '@hono/zod-openapi';
import { keyJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import type { Credentials } from '../key-cache.ts';
import { given, id, listJson, listOf, pageQuery, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const keySchema = z
  .object({
    id: id(),
    name: z.string().openapi({ example: 'deploy' }),
    prefix: z.string().openapi({ description: 'How the key begins.', example: 'syn_ab12' }),
    scope: z.enum(['operator', 'tenant']),
    tenant_id: id().nullable(),
    created_at: time(),
    created_by: z.string(),
    parent_id: id().nullable().openapi({ description: 'The key that it was created with.' }),
    last_used_at: time().nullable(),
    revoked_at: time().nullable(),
  })
  .openapi('Key');

const tags = ['Keys'];
const security = signedIn;

/** API keys. With the key of a tenant, only those of that tenant. */
export function keyRoutes(app: App, credentials: Credentials): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/keys',
      operationId: 'listKeys',
      tags,
      security,
      summary: 'List API keys',
      description: 'Never the keys themselves, only how they begin.',
      request: { query: strict(pageQuery) },
      responses: { 200: answer('A page of keys.', listOf('Key', keySchema)), ...problems() },
    }),
    async (c) => c.json(listJson(await c.get('view').keys.list(given(c.req.valid('query'))), keyJson), 200),
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
        'This is the only answer that ever holds the key. Its name must differ from those of the other valid keys of the same scope (the operator, or one tenant): else 409.',
      request: {
        body: body(
          strict({
            name: text(100).openapi({ example: 'deploy' }),
            tenant_id: id()
              .nullable()
              .optional()
              .openapi({ description: 'The tenant it is for; an operator’s where this is null or absent.' }),
          }),
        ),
      },
      responses: {
        201: answer(
          'The new key.',
          keySchema
            .extend({ key: z.string().openapi({ description: 'The key itself, once.' }) })
            .openapi('NewKey'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { name, tenant_id } = c.req.valid('json');
      // A tenant's key makes keys of its own tenant, whether it says so or not.
      const tenantId = tenant_id ?? c.get('caller').who.tenantId;
      const made = await c.get('view').keys.create({ name, ...given({ tenantId }) });
      return c.json({ ...keyJson(made), key: made.key }, 201);
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
      description: 'Never the key itself. `descendants` counts the valid keys that were created with it.',
      request: { params: z.object({ id: id() }) },
      responses: {
        200: answer(
          'The key.',
          keySchema
            .extend({
              descendants: z.int().openapi({
                description: 'Valid keys created with it, with those keys, and so on; at most 10,000.',
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
        'It stops working within seconds, and so do the sessions that were opened with it; with `descendants`, also the keys that were created with it, with those keys, and so on.',
      request: {
        params: z.object({ id: id() }),
        query: strict({
          descendants: z.enum(['true', 'false']).optional().openapi({
            description: 'Whether to revoke the keys that were created with it too.',
          }),
        }),
      },
      responses: { 204: nothing('It is revoked.'), ...problems(404) },
    }),
    async (c) => {
      const descendants = c.req.valid('query').descendants === 'true';
      await c.get('view').keys.revoke(c.req.valid('param').id, { descendants });
      credentials.forget();
      return c.body(null, 204);
    },
  );
}
