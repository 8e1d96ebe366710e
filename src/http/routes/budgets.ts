import { createRoute, z } from '@hono/zod-openapi';
import { budgetJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { given, id, listJson, listOf, pageQuery, provider, strict, time } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const budgetSchema = z
  .object({
    key: z.string().openapi({ example: 'github/core/0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f' }),
    provider: provider(),
    name: z.string().openapi({ description: 'What the provider limits.', example: 'core' }),
    tenant_id: id().nullable().openapi({ description: 'Null: shared by all tenants.' }),
    credential_id: id().nullable(),
    limit: z.int().openapi({ description: 'Requests in a period.', example: 5000 }),
    period_seconds: z.int().openapi({ example: 3600 }),
    left: z.int().openapi({ description: 'What no process holds or has spent.', example: 4200 }),
    leased: z.int().openapi({ description: 'What processes hold, as far as they have told.', example: 100 }),
    resets_at: time()
      .nullable()
      .openapi({ description: 'When it is full again; null if it is, because its window is over.' }),
    learned_at: time()
      .nullable()
      .openapi({ description: 'When the provider itself last said how much is left; null if it never did.' }),
  })
  .openapi('Budget');

export function budgetRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/budgets',
      operationId: 'listBudgets',
      tags: ['Budgets'],
      security: signedIn,
      summary: 'List budgets',
      description: 'How much may still be asked of providers, by the whole fleet.',
      request: {
        query: strict({ provider: provider().optional(), credential_id: id().optional(), ...pageQuery }),
      },
      responses: { 200: answer('A page of budgets.', listOf('Budget', budgetSchema)), ...problems() },
    }),
    async (c) => {
      const { credential_id: credentialId, ...rest } = c.req.valid('query');
      const page = await c.get('view').budgets.list(given({ ...rest, credentialId }));
      return c.json(listJson(page, budgetJson), 200);
    },
  );
}
