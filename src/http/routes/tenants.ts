import { createRoute, z } from '@hono/zod-openapi';
import { tenantJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { id, listJson, pageQuery, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';

const tags = ['Tenants'];
const security = signedIn;

export function tenantRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/tenants',
      operationId: 'listTenants',
      tags,
      security,
      summary: 'List tenants',
      description: 'A tenant key lists only its own tenant.',
      request: {
        query: strict({
          search: text(200).openapi({ description: 'An id, or a prefix of a name.' }).optional(),
          ...pageQuery,
        }),
      },
      responses: { 200: answer('A page of tenants.', listOf(tenantJson)), ...problems() },
    }),
    async (c) =>
      c.json(
        listJson(await c.get('view').tenants.list(omitUndefined(c.req.valid('query'))), tenantJson),
        200,
      ),
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/tenants',
      operationId: 'createTenant',
      middleware: operatorOnly,
      tags,
      security,
      summary: 'Create a tenant',
      description: 'Operators only.',
      request: { body: body(strict({ name: text(200).openapi({ example: 'Northwind' }) })) },
      responses: { 201: answer('The new tenant.', schemaOf(tenantJson)), ...bodyProblems() },
    }),
    async (c) => c.json(tenantJson(await c.get('view').tenants.create(c.req.valid('json'))), 201),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/tenants/{id}',
      operationId: 'getTenant',
      tags,
      security,
      summary: 'Show a tenant',
      description: 'Returns one tenant.',
      request: { params: z.object({ id: id() }) },
      responses: { 200: answer('The tenant.', schemaOf(tenantJson)), ...problems(404) },
    }),
    async (c) => c.json(tenantJson(await c.get('view').tenants.get(c.req.valid('param').id)), 200),
  );
}
