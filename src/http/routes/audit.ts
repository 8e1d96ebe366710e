import { createRoute, z } from '@hono/zod-openapi';
import { auditEventJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { given, id, listJson, listOf, pageQuery, strict, text, time } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const eventSchema = z
  .object({
    id: id(),
    at: time(),
    kind: z.string().openapi({ example: 'connection.paused' }),
    actor: z.string().openapi({ description: 'Who did it.', example: 'key:deploy' }),
    key_id: id()
      .nullable()
      .openapi({ description: 'The API key that was used, itself or through a session.' }),
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
      summary: 'Who did what, and why',
      description: 'The newest first.',
      request: {
        query: strict({
          connection_id: id().optional(),
          tenant_id: id().optional(),
          key_id: id().optional().openapi({ description: 'Only what was done with this API key.' }),
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
      const page = await c.get('view').audit.list(given({ ...rest, connectionId, tenantId, keyId }));
      return c.json(listJson(page, auditEventJson), 200);
    },
  );
}
