import { createRoute, z } from '@hono/zod-openapi';
import { connectionJson, deletionJson } from '../../api/index.ts';
import { connectionFilter, connectionSchema, filterOf } from '../connection-schema.ts';
import type { App } from '../context.ts';
import { given, id, listJson, listOf, pageQuery, provider, reason, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const deletionSchema = z
  .object({
    connection_id: id(),
    tenant_id: id(),
    state: z.enum(['deleting', 'deleted']),
    deleted_signals: z.int(),
    estimated_signals: z.int().openapi({ description: 'Exact up to 100,000, an estimate beyond that.' }),
    error: z.string().nullable().openapi({
      description: 'Why the last batch failed; it is retried. Only operators get the text of the database.',
    }),
    requested_at: time(),
    updated_at: time(),
    finished_at: time().nullable(),
  })
  .openapi('Deletion');

const tags = ['Connections'];
const security = signedIn;
const params = z.object({ id: id() });
const object = () => z.record(z.string(), z.unknown());
const interval = () => z.int().min(60).openapi({ description: 'In seconds.', example: 300 });

/** Connections themselves. What is done to them is in connection-control.ts. */
export function connectionRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections',
      operationId: 'listConnections',
      tags,
      security,
      summary: 'List connections',
      description: 'In the order in which they were made, with their health.',
      request: {
        query: strict({
          ...connectionFilter,
          include: z
            .enum(['recent'])
            .openapi({ description: '`recent`: with the latest runs of each.' })
            .optional(),
          ...pageQuery,
        }),
      },
      responses: {
        200: answer('A page of connections.', listOf('Connection', connectionSchema)),
        ...problems(),
      },
    }),
    async (c) => {
      const { limit, cursor, include, ...filter } = c.req.valid('query');
      const page = await c
        .get('view')
        .connections.list({ ...filterOf(filter), ...given({ limit, cursor }), recent: include === 'recent' });
      return c.json(listJson(page, connectionJson), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections',
      operationId: 'createConnection',
      tags,
      security,
      summary: 'Create a connection',
      description: 'It is active at once; a scheduler places its first run.',
      request: {
        body: body(
          strict({
            tenant_id: id(),
            provider: provider(),
            external_id: text(500).openapi({ description: 'What the provider calls it.' }).optional(),
            credential_id: id()
              .openapi({
                description: 'What opens the provider: one of the same tenant, for the same provider.',
              })
              .optional(),
            interval_seconds: interval().optional(),
            config: object().openapi({ description: 'What its connector is told.' }).optional(),
            metadata: object()
              .openapi({ description: 'Yours. The key `sync` of it belongs to the engine.' })
              .optional(),
          }),
        ),
      },
      responses: { 201: answer('The new connection.', connectionSchema), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      const { tenant_id, provider, external_id, credential_id, interval_seconds, config, metadata } =
        c.req.valid('json');
      const optional = given({
        externalId: external_id,
        credentialId: credential_id,
        intervalSeconds: interval_seconds,
        config,
        metadata,
      });
      const made = await c.get('view').connections.create({ tenantId: tenant_id, provider, ...optional });
      return c.json(connectionJson(made), 201);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}',
      operationId: 'getConnection',
      tags,
      security,
      summary: 'Show a connection',
      description: 'One connection, by its id.',
      request: { params },
      responses: { 200: answer('The connection.', connectionSchema), ...problems(404) },
    }),
    async (c) => c.json(connectionJson(await c.get('view').connections.get(c.req.valid('param').id)), 200),
  );

  app.openapi(
    createRoute({
      method: 'patch',
      path: '/v1/connections/{id}',
      operationId: 'changeConnection',
      tags,
      security,
      summary: 'Change its interval, its credential or its config',
      description:
        'A new interval re-places its next run; null goes back to the default. A new credential makes a connection active that waited for one; null takes it away. A new config replaces the old one, from the next run on.',
      request: {
        params,
        body: body(
          strict({
            interval_seconds: interval().nullable().optional(),
            credential_id: id().nullable().optional(),
            config: object().optional(),
            reason: reason().optional(),
          })
            .refine(
              ({ reason: _, ...change }) => Object.keys(change).length === 1,
              'must hold one of interval_seconds, credential_id and config',
            )
            .openapi('ConnectionChange'),
        ),
      },
      responses: { 200: answer('The connection as it is now.', connectionSchema), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const { interval_seconds: seconds, credential_id: credentialId, config, reason } = c.req.valid('json');
      const { connections } = c.get('view');
      const doer = given({ reason });
      if (config !== undefined)
        return c.json(connectionJson(await connections.setConfig(id, config, doer)), 200);
      if (credentialId !== undefined)
        return c.json(connectionJson(await connections.setCredential(id, credentialId, doer)), 200);
      const changed =
        seconds === null || seconds === undefined
          ? await connections.clearInterval(id, doer)
          : await connections.setInterval(id, seconds, doer);
      return c.json(connectionJson(changed), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'delete',
      path: '/v1/connections/{id}',
      operationId: 'deleteConnection',
      tags,
      security,
      summary: 'Delete a connection',
      description:
        'With its jobs, its signals and the credential that only it used. What was done to it stays in the audit log. With more than 5,000 signals it answers 202: the connection is disabled and refuses changes, and is deleted in the background.',
      request: { params, body: body(strict({ reason: reason().optional() }), { required: false }) },
      responses: {
        202: answer('It is being deleted; `Location` is its progress.', deletionSchema),
        204: nothing('It is gone.'),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const deletion = await c.get('view').connections.remove(id, given(c.req.valid('json')));
      if (deletion.state === 'deleted') return c.body(null, 204);
      c.header('location', `${c.get('base')}/v1/connections/${id}/deletion`);
      return c.json(deletionJson(deletion), 202);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections/{id}/deletion',
      operationId: 'getDeletion',
      tags,
      security,
      summary: 'Show the progress of a deletion',
      description: 'Also for seven days after the connection is gone.',
      request: { params },
      responses: { 200: answer('Its progress.', deletionSchema), ...problems(404) },
    }),
    async (c) => c.json(deletionJson(await c.get('view').connections.deletion(c.req.valid('param').id)), 200),
  );
}
