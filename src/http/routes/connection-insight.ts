import { createRoute, z } from '@hono/zod-openapi';
import { cursorJson, iso } from '../../api/index.ts';
import { isoTime } from '../../values/time-text.ts';
import type { App } from '../context.ts';
import {
  anyJson,
  id,
  intInQuery,
  listJson,
  listOf,
  omitUndefined,
  pageQuery,
  strict,
  time,
} from '../parts.ts';
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
        200: answer(
          'The explanation.',
          z
            .object({
              state: z.enum([
                'paused',
                'needs_auth',
                'disabled',
                'running',
                'backing_off',
                'waiting',
                'unserved',
                'scheduled',
                'unplaced',
              ]),
              sentence: z.string(),
              next_run_at: time().nullable(),
            })
            .openapi('Explanation'),
        ),
        ...problems(404),
      },
    }),
    async (c) => {
      const { state, sentence, nextRunAt } = await c.get('view').connections.explain(c.req.valid('param').id);
      return c.json({ state, sentence, next_run_at: isoTime(nextRunAt) }, 200);
    },
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
        200: answer(
          'The next runs; empty unless the connection is active.',
          z
            .object({
              pending: z.enum(['queued', 'running']).nullable(),
              runs: z.array(z.object({ earliest: time(), latest: time() })),
            })
            .openapi('Schedule'),
        ),
        ...problems(404),
      },
    }),
    async (c) => {
      const { pending, runs } = await c
        .get('view')
        .connections.preview(c.req.valid('param').id, omitUndefined(c.req.valid('query')));
      const windows = runs.map(({ earliest, latest }) => ({ earliest: iso(earliest), latest: iso(latest) }));
      return c.json({ pending: pending ?? null, runs: windows }, 200);
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
        200: answer(
          'A page of cursors.',
          listOf(
            'StoredCursor',
            z
              .object({
                job_id: id(),
                at: time(),
                cursor: anyJson('The cursor returned by the connector.'),
                current: z.boolean(),
              })
              .openapi('StoredCursor'),
          ),
        ),
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
