import { createRoute, z } from '@hono/zod-openapi';
import { cursorJson, explanationJson, scheduleJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { id, intInQuery, listJson, pageQuery, strict } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const tags = ['Connections'];
const security = signedIn;
const params = z.object({ id: id() });

export function connectionInsightRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/why',
      operationId: 'explainConnection',
      tags,
      security,
      summary: 'Explain the state of a connection',
      description: 'Why it is or is not syncing, and its next run.',
      request: { params },
      responses: {
        200: answer('The explanation.', schemaOf(explanationJson)),
        ...problems(404),
      },
    }),
    async (c) =>
      c.json(explanationJson(await c.get('view').connections.explain(c.req.valid('param').id)), 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/schedule',
      operationId: 'previewConnection',
      tags,
      security,
      summary: 'Preview the next runs',
      description: 'Expected start windows of the next runs.',
      request: { params, query: strict({ runs: intInQuery(1, 100, { default: 5 }).optional() }) },
      responses: {
        200: answer('The next runs; empty unless the connection is active.', schemaOf(scheduleJson)),
        ...problems(404),
      },
    }),
    async (c) => {
      const preview = await c
        .get('view')
        .connections.preview(c.req.valid('param').id, omitUndefined(c.req.valid('query')));
      return c.json(scheduleJson(preview), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/cursors',
      operationId: 'listCursors',
      tags,
      security,
      summary: 'List stored cursors',
      description: 'Cursors to rewind to, newest first.',
      request: { params, query: strict(pageQuery) },
      responses: {
        200: answer('A page of cursors.', listOf(cursorJson)),
        ...problems(404),
      },
    }),
    async (c) => {
      const page = await c
        .get('view')
        .connections.cursors(c.req.valid('param').id, omitUndefined(c.req.valid('query')));
      return c.json(listJson(page, cursorJson), 200);
    },
  );
}
