import { createRoute } from '@hono/zod-openapi';
import { auditEventJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf } from '../model-schema.ts';
import { id, listJson, pageQuery, strict, text } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

export function auditRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/audit',
      operationId: 'listEvents',
      tags: ['Audit'],
      security: signedIn,
      summary: 'List audit events',
      description: 'Newest first.',
      request: {
        query: strict({
          connection_id: id().optional(),
          tenant_id: id().optional(),
          key_id: id().optional().openapi({ description: 'Only events of this API key.' }),
          kind: text(100).openapi({ example: 'connection.paused' }).optional(),
          ...pageQuery,
        }),
      },
      responses: { 200: answer('A page of events.', listOf(auditEventJson)), ...problems() },
    }),
    async (c) => {
      const {
        connection_id: connectionId,
        tenant_id: tenantId,
        key_id: keyId,
        ...rest
      } = c.req.valid('query');
      const page = await c.get('view').audit.list(omitUndefined({ ...rest, connectionId, tenantId, keyId }));
      return c.json(listJson(page, auditEventJson), 200);
    },
  );
}
