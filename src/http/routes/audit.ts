import { createRoute, z } from '@hono/zod-openapi';
import { auditEventJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { id, listJson, listOf, omitUndefined, pageQuery, strict, text, time } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const eventSchema = z
  .object({
    id: id(),
    at: time(),
    kind: z.string().openapi({ example: 'connection.paused' }),
    actor: z.string().openapi({ description: 'Who made the change.', example: 'key:deploy' }),
    key_id: id().nullable().openapi({ description: 'The API key used, directly or through a session.' }),
    reason: z.string().nullable(),
    tenant_id: id().nullable(),
    connection_id: id().nullable(),
    job_id: id().nullable(),
    detail: z.record(z.string(), z.unknown()).nullable(),
  })
  .openapi('Event');

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
      responses: { 200: answer('A page of events.', listOf('Event', eventSchema)), ...problems() },
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
