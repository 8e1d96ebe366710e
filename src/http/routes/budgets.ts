import { createRoute, z } from '@hono/zod-openapi';
import { budgetJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { id, listJson, listOf, omitUndefined, pageQuery, provider, strict, time } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const budgetSchema = z
  .object({
    key: z.string().openapi({ example: 'github/core/0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f' }),
    provider: provider(),
    name: z.string().openapi({ description: 'The limited resource.', example: 'core' }),
    tenant_id: id().nullable().openapi({ description: 'Null if shared by all tenants.' }),
    credential_id: id().nullable(),
    limit: z.int().openapi({ description: 'Requests per period.', example: 5000 }),
    period_seconds: z.int().openapi({ example: 3600 }),
    left: z.int().openapi({ description: 'Requests neither spent nor leased.', example: 4200 }),
    leased: z.int().openapi({ description: 'Requests leased to processes, as last reported.', example: 100 }),
    resets_at: time()
      .nullable()
      .openapi({ description: 'When the budget is full again; null if it is full.' }),
    learned_at: time()
      .nullable()
      .openapi({ description: 'When the provider last reported the remaining requests; null if never.' }),
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
      description: 'Remaining provider rate limits, across all processes.',
      request: {
        query: strict({ provider: provider().optional(), credential_id: id().optional(), ...pageQuery }),
      },
      responses: { 200: answer('A page of budgets.', listOf('Budget', budgetSchema)), ...problems() },
    }),
    async (c) => {
      const { credential_id: credentialId, ...rest } = c.req.valid('query');
      const page = await c.get('view').budgets.list(omitUndefined({ ...rest, credentialId }));
      return c.json(listJson(page, budgetJson), 200);
    },
  );
}
