import { createRoute, z } from '@hono/zod-openapi';
import { signalJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { flagInQuery, id, listJson, pageQuery, signalFilterQuery, strict, timeInQuery } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const tags = ['Signals'];
const security = signedIn;

export function signalRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/signals',
      operationId: 'listSignals',
      tags,
      security,
      summary: 'List signals',
      description: 'Newest first. To process all signals, read the feed.',
      request: {
        query: strict({
          ...signalFilterQuery,
          job_id: id().optional(),
          since: timeInQuery('Received at or after this time.').optional(),
          until: timeInQuery('Received before this time.').optional(),
          payload: flagInQuery({ default: false, description: 'Include payloads.' }).optional(),
          ...pageQuery,
        }),
      },
      responses: { 200: answer('A page of signals.', listOf(signalJson)), ...problems() },
    }),
    async (c) => {
      const { connection_id, tenant_id, job_id, payload = false, ...rest } = c.req.valid('query');
      const ids = { connectionId: connection_id, tenantId: tenant_id, jobId: job_id };
      const page = await c.get('view').signals.list({ ...omitUndefined({ ...rest, ...ids }), payload });
      return c.json(listJson(page, signalJson), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/signals/{id}',
      operationId: 'getSignal',
      tags,
      security,
      summary: 'Show a signal',
      description: 'With its payload.',
      request: { params: z.object({ id: id() }) },
      responses: { 200: answer('The signal.', schemaOf(signalJson)), ...problems(404) },
    }),
    async (c) => {
      const signal = await c.get('view').signals.get(c.req.valid('param').id);
      return c.json(signalJson(signal), 200);
    },
  );
}
