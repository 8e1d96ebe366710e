import { createRoute, z } from '@hono/zod-openapi';
import { consumerJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { listJson, pageQuery, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Consumers'];
const security = signedIn;
const params = z.object({ name: text(100).openapi({ example: 'search-index' }) });

export function consumerRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/consumers',
      operationId: 'listConsumers',
      tags,
      security,
      summary: 'List consumers',
      description: 'Feed readers and their positions.',
      request: { query: strict(pageQuery) },
      responses: { 200: answer('A page of consumers.', listOf(consumerJson)), ...problems() },
    }),
    async (c) =>
      c.json(
        listJson(await c.get('view').consumers.list(omitUndefined(c.req.valid('query'))), consumerJson),
        200,
      ),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/consumers/{name}',
      operationId: 'getConsumer',
      tags,
      security,
      summary: 'Show a consumer',
      description: 'Its position in the feed.',
      request: { params },
      responses: { 200: answer('The consumer.', schemaOf(consumerJson)), ...problems(404) },
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
      summary: 'Create or move a consumer',
      description: 'Sets its position: to acknowledge processed signals, or to read signals again.',
      request: {
        params,
        body: body(
          strict({
            after: text(500).openapi({
              description: 'A feed cursor, `beginning` or `latest`.',
              example: 'latest',
            }),
          }),
        ),
      },
      responses: { 200: answer('The updated consumer.', schemaOf(consumerJson)), ...bodyProblems(410) },
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
      description: 'Deletes its position; signals are kept.',
      request: { params },
      responses: { 204: nothing('Deleted.'), ...problems(404) },
    }),
    async (c) => {
      await c.get('view').consumers.delete(c.req.valid('param').name);
      return c.body(null, 204);
    },
  );
}
