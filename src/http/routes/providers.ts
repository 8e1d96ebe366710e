import { createRoute, z } from '@hono/zod-openapi';
import { providerJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { listJson, pageQuery, provider, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';

const tags = ['Providers'];
const security = signedIn;

export function providerRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/providers',
      operationId: 'listProviders',
      tags,
      security,
      summary: 'List providers',
      description: 'Registered external systems.',
      request: { query: strict(pageQuery) },
      responses: { 200: answer('A page of providers.', listOf(providerJson)), ...problems() },
    }),
    async (c) =>
      c.json(
        listJson(await c.get('view').providers.list(omitUndefined(c.req.valid('query'))), providerJson),
        200,
      ),
  );

  app.openapi(
    createRoute({
      method: 'put',
      path: '/v1/providers/{slug}',
      operationId: 'putProvider',
      middleware: operatorOnly,
      tags,
      security,
      summary: 'Register or change a provider',
      description: 'Operators only. Providers with a connector are registered automatically.',
      request: {
        params: z.object({ slug: provider() }),
        body: body(
          strict({
            display_name: text(200).openapi({ example: 'GitHub' }).optional(),
            auth_type: text(200).openapi({ example: 'oauth2' }).optional(),
          }),
          { required: false },
        ),
      },
      responses: { 200: answer('The updated provider.', schemaOf(providerJson)), ...bodyProblems() },
    }),
    async (c) => {
      const { display_name: displayName, auth_type: authType } = c.req.valid('json');
      const registered = await c
        .get('view')
        .providers.register({ slug: c.req.valid('param').slug, ...omitUndefined({ displayName, authType }) });
      return c.json(providerJson(registered), 200);
    },
  );
}
