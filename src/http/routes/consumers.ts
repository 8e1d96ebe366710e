import { createRoute, z } from '@hono/zod-openapi';
import { consumerJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { given, id, listJson, listOf, pageQuery, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const name = () => text(100).openapi({ example: 'search-index' });

const consumerSchema = z
  .object({
    name: name(),
    tenant_id: id().nullable(),
    after: z
      .string()
      .nullable()
      .openapi({ description: 'The cursor it has come to; null at the beginning.' }),
    moved_at: time().nullable(),
    created_at: time(),
  })
  .openapi('Consumer');

const tags = ['Consumers'];
const security = signedIn;
const params = z.object({ name: name() });

/** Readers of the feed whose place the service remembers. */
export function consumerRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/consumers',
      operationId: 'listConsumers',
      tags,
      security,
      summary: 'List consumers',
      description: 'Readers of the feed, and how far each has come.',
      request: { query: strict(pageQuery) },
      responses: { 200: answer('A page of consumers.', listOf('Consumer', consumerSchema)), ...problems() },
    }),
    async (c) =>
      c.json(listJson(await c.get('view').consumers.list(given(c.req.valid('query'))), consumerJson), 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/consumers/{name}',
      operationId: 'getConsumer',
      tags,
      security,
      summary: 'Show a consumer',
      description: 'How far it has come in the feed.',
      request: { params },
      responses: { 200: answer('The consumer.', consumerSchema), ...problems(404) },
    }),
    async (c) => c.json(consumerJson(await c.get('view').consumers.get(c.req.valid('param').name)), 200),
  );

  app.openapi(
    createRoute({
      method: 'put',
      path: '/v1/consumers/{name}',
      operationId: 'moveConsumer',
      tags,
      security,
      summary: 'Create a consumer, or move it',
      description: 'Sets how far it has come: to confirm what was worked through, or to read it again.',
      request: {
        params,
        body: body(
          strict({
            after: text(500).openapi({
              description: 'A cursor of the feed, `beginning` or `latest`.',
              example: 'latest',
            }),
          }),
        ),
      },
      responses: { 200: answer('The consumer as it is now.', consumerSchema), ...bodyProblems(410) },
    }),
    async (c) => {
      const moved = await c.get('view').consumers.move(c.req.valid('param').name, c.req.valid('json').after);
      return c.json(consumerJson(moved), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/consumers/{name}',
      operationId: 'deleteConsumer',
      tags,
      security,
      summary: 'Delete a consumer',
      description: 'Its place in the feed is forgotten; no signal is.',
      request: { params },
      responses: { 204: nothing('It is gone.'), ...problems(404) },
    }),
    async (c) => {
      await c.get('view').consumers.remove(c.req.valid('param').name);
      return c.body(null, 204);
    },
  );
}
