import { createRoute } from '@hono/zod-openapi';
import { attentionJson, loadJson, overviewJson, seriesJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { schemaOf } from '../model-schema.ts';
import { intInQuery, provider, strict } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';

const tags = ['Statistics'];
const security = signedIn;

export function statsRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/stats',
      operationId: 'getOverview',
      tags,
      security,
      summary: 'Overview',
      description: 'Connections by health, the queue, and the last hour.',
      request: { query: strict({}) },
      responses: { 200: answer('The overview.', schemaOf(overviewJson)), ...problems() },
    }),
    async (c) => c.json(overviewJson(await c.get('view').stats.overview()), 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/stats/series',
      operationId: 'getSeries',
      tags,
      security,
      summary: 'Time series',
      description: 'Runs, signals, lag and freshness over time.',
      request: {
        query: strict({
          minutes: intInQuery(5, 10_080, { default: 60, description: 'Length of the series.' }).optional(),
          provider: provider().optional(),
        }),
      },
      responses: { 200: answer('The series.', schemaOf(seriesJson)), ...problems() },
    }),
    async (c) =>
      c.json(seriesJson(await c.get('view').stats.series(omitUndefined(c.req.valid('query')))), 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/stats/load',
      operationId: 'getLoad',
      tags,
      security,
      summary: 'Upcoming load',
      description: 'Scheduled runs per minute for the next 60 minutes.',
      request: { query: strict({}) },
      responses: { 200: answer('Runs by minute.', schemaOf(loadJson)), ...problems() },
    }),
    async (c) => c.json(loadJson(await c.get('view').stats.load()), 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/stats/attention',
      operationId: 'getAttention',
      tags,
      security,
      summary: 'Problems that need attention',
      description: 'Grouped by cause, each with a remedy.',
      request: { query: strict({}) },
      responses: {
        200: answer('The problems; empty if there are none.', schemaOf(attentionJson)),
        ...problems(),
      },
    }),
    async (c) => c.json(attentionJson({ items: await c.get('view').stats.attention() }), 200),
  );
}
