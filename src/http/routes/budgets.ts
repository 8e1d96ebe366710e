import { createRoute } from '@hono/zod-openapi';
import { budgetJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf } from '../model-schema.ts';
import { id, listJson, pageQuery, provider, strict } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

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
      responses: { 200: answer('A page of budgets.', listOf(budgetJson)), ...problems() },
    }),
    async (c) => {
      const { credential_id: credentialId, ...rest } = c.req.valid('query');
      const page = await c.get('view').budgets.list(omitUndefined({ ...rest, credentialId }));
      return c.json(listJson(page, budgetJson), 200);
    },
  );
}
