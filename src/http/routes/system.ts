import { createRoute } from '@hono/zod-openapi';
import { systemJson } from '../../index.ts';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import { schemaOf } from '../model-schema.ts';
import { strict } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

export function systemRoutes(app: App, version: string): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/system',
      operationId: 'getSystem',
      middleware: operatorOnly,
      tags: ['System'],
      security: signedIn,
      summary: 'Show the system',
      description: 'Operators only. Processes, tables, retention and effective configuration.',
      request: { query: strict({}) },
      responses: { 200: answer('The system.', schemaOf(systemJson)), ...problems() },
    }),
    async (c) => c.json(systemJson({ version, ...(await c.get('view').system()) }), 200),
  );
}
