import { createRoute, z } from '@hono/zod-openapi';
import { jobTypes } from '../../contract/states.ts';
import { bulkActions, bulkJson, connectionJson, repairJson, triggerJson } from '../../index.ts';
import { priorities } from '../../values/limits.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { schemaOf } from '../model-schema.ts';
import { anyJson, connectionFilter, filterOf, id, reason, strict, text } from '../parts.ts';
import { answer, body, bodyProblems, signedIn } from '../responses.ts';

const tags = ['Connections'];
const security = signedIn;
const params = z.object({ id: id() });
const reasonBody = () => body(strict({ reason: reason().optional() }), { required: false });

export function connectionControlRoutes(app: App): void {
  for (const action of ['pause', 'resume'] as const)
    app.openapi(
      createRoute({
        method: 'post',
        path: `/v1/connections/{id}/${action}`,
        operationId: `${action}Connection`,
        tags,
        security,
        summary: action === 'pause' ? 'Pause a connection' : 'Resume a connection',
        description:
          action === 'pause'
            ? 'No job starts until it is resumed. A running job may finish.'
            : 'Makes the connection active from any status; its queued jobs become due now. ' +
              'A paused or disabled one that waits for its first consent returns to `needs_auth`.',
        request: { params, body: reasonBody() },
        responses: {
          200: answer('The updated connection.', schemaOf(connectionJson)),
          ...bodyProblems(404, 409),
        },
      }),
      async (c) => {
        const { id } = c.req.valid('param');
        const { connections } = c.get('view');
        const changed = await connections[action](id, omitUndefined(c.req.valid('json')));
        return c.json(connectionJson(changed), 200);
      },
    );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/{id}/trigger',
      operationId: 'triggerConnection',
      tags,
      security,
      summary: 'Sync now',
      description:
        'Queues a job, or brings a queued one forward. While a job is running, repeated calls queue one ' +
        'follow-up.',
      request: {
        params,
        body: body(
          strict({
            type: z.enum(jobTypes).optional(),
            priority: z
              .int()
              .min(priorities.min)
              .max(priorities.max)
              .openapi({
                description: 'Higher runs first. Default 10; a tenant key may use at most 10 (403 above it).',
              })
              .optional(),
            reason: reason().optional(),
          }),
          { required: false },
        ),
      },
      responses: {
        200: answer('The job, and the effect of the call.', schemaOf(triggerJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const result = await c
        .get('view')
        .connections.trigger(c.req.valid('param').id, omitUndefined(c.req.valid('json')));
      return c.json(triggerJson(result), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/{id}/cancel',
      operationId: 'cancelConnection',
      tags,
      security,
      summary: 'Cancel queued and running jobs',
      description: 'The schedule does not change.',
      request: { params, body: reasonBody() },
      responses: {
        200: answer('The cancelled jobs.', z.object({ cancelled: z.array(id()) }).openapi('Cancelled')),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const cancelled = await c
        .get('view')
        .connections.cancel(c.req.valid('param').id, omitUndefined(c.req.valid('json')));
      return c.json({ cancelled }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/{id}/rewind',
      operationId: 'rewindConnection',
      tags,
      security,
      summary: 'Rewind the cursor',
      description:
        'Sets the cursor to the one stored by `job_id`, or to `cursor`; null restarts from the beginning.',
      request: {
        params,
        body: body(
          strict({
            job_id: id().openapi({ description: 'Restore the cursor stored by this job.' }).optional(),
            cursor: anyJson('Connector cursor; null: start from the beginning.').optional(),
            reason: reason().optional(),
          })
            .refine((body) => 'job_id' in body !== 'cursor' in body, 'must have either job_id or cursor')
            .openapi('Rewind'),
        ),
      },
      responses: {
        200: answer('The updated connection.', schemaOf(connectionJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const { job_id: jobId, cursor, reason } = c.req.valid('json');
      const { connections } = c.get('view');
      const target = jobId === undefined ? { cursor } : { jobId };
      return c.json(connectionJson(await connections.rewind(id, target, omitUndefined({ reason }))), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/repair-schedule',
      operationId: 'repairSchedule',
      tags,
      security,
      summary: 'Repair times too far in the future',
      description:
        'Resets `next_run_at` of active connections, and `scheduled_at` and `retry_after` of their queued ' +
        'jobs, ' +
        'if they are further in the future than the schedule allows. ' +
        'One bounded step: repeat with `next_cursor` until it is null.',
      request: {
        body: body(
          strict({
            dry_run: z.boolean().openapi({ description: 'Only report what would change.' }).optional(),
            reason: reason().optional(),
            limit: z.int().min(1).max(100).optional(),
            cursor: text(2000).optional(),
          }),
          { required: false },
        ),
      },
      responses: { 200: answer('The result of this step.', schemaOf(repairJson)), ...bodyProblems() },
    }),
    async (c) => {
      const { dry_run: dryRun, ...rest } = c.req.valid('json');
      const step = await c
        .get('view')
        .connections.repairSchedule({ ...omitUndefined({ dryRun }), ...omitUndefined(rest) });
      return c.json(repairJson(step), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/bulk',
      operationId: 'changeConnections',
      tags,
      security,
      summary: 'Apply an action to many connections',
      description:
        'One bounded step, which may stop below `limit` if it takes long. Repeat with `next_cursor` until ' +
        'it is null. ' +
        'A failure is listed in `failed` and does not stop the others.',
      request: {
        body: body(
          strict({
            action: z.enum(bulkActions),
            filter: strict(connectionFilter),
            reason: reason().optional(),
            limit: z.int().min(1).max(100).optional(),
            cursor: text(2000).optional(),
          }),
        ),
      },
      responses: {
        200: answer('The result of this step.', schemaOf(bulkJson)),
        ...bodyProblems(),
      },
    }),
    async (c) => {
      const { filter, ...rest } = c.req.valid('json');
      const step = await c
        .get('view')
        .connections.bulk({ filter: filterOf(filter), ...omitUndefined(rest), action: rest.action });
      return c.json(bulkJson(step), 200);
    },
  );
}
