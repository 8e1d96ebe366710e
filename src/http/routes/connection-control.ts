import { createRoute, z } from '@hono/zod-openapi';
import { connectionJson, repairJson } from '../../api/index.ts';
import { connectionFilter, connectionSchema, filterOf } from '../connection-schema.ts';
import type { App } from '../context.ts';
import { anyJson, given, id, reason, strict, text, time } from '../parts.ts';
import { answer, body, bodyProblems, signedIn } from '../responses.ts';

const tags = ['Connections'];
const security = signedIn;
const params = z.object({ id: id() });
const repairSchema = z
  .object({
    items: z.array(
      z.object({
        connection_id: id(),
        tenant_id: id(),
        provider: z.string(),
        next_run_at: z
          .object({ from: time(), to: time() })
          .nullable()
          .openapi({ description: 'Null where it was within its limit, and stays.' }),
        job_ids: z.array(id()).openapi({ description: 'Queued jobs whose times move.' }),
      }),
    ),
    skipped: z.int().openapi({ description: 'Connections that another transaction holds: call again.' }),
    next_cursor: z.string().nullable(),
  })
  .openapi('RepairStep');
const whyBody = () => body(strict({ reason: reason().optional() }), { required: false });

/** What is done to connections. Every one of these is kept in the audit log, with who did it and why. */
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
            ? 'Nothing more of it runs until it is resumed. A run that has begun may finish.'
            : 'Makes it active again, from whatever status; what waited for it runs now.',
        request: { params, body: whyBody() },
        responses: {
          200: answer('The connection as it is now.', connectionSchema),
          ...bodyProblems(404, 409),
        },
      }),
      async (c) => {
        const { id } = c.req.valid('param');
        const { connections } = c.get('view');
        await connections[action](id, given(c.req.valid('json')));
        return c.json(connectionJson(await connections.get(id)), 200);
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
        'A job that waits is brought forward; while one is running, exactly one more follows it, however often this is called.',
      request: {
        params,
        body: body(
          strict({
            type: z.enum(['incremental', 'full', 'webhook']).optional(),
            priority: z
              .int()
              .min(-32_768)
              .max(32_767)
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
        200: answer(
          'What came of it.',
          z
            .object({ job_id: id(), effect: z.enum(['queued', 'brought_forward', 'follows']) })
            .openapi('Triggered'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { jobId, effect } = await c
        .get('view')
        .connections.trigger(c.req.valid('param').id, given(c.req.valid('json')));
      const word = effect === 'brought forward' ? ('brought_forward' as const) : effect;
      return c.json({ job_id: jobId, effect: word }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/{id}/cancel',
      operationId: 'cancelConnection',
      tags,
      security,
      summary: 'Cancel what is queued or running',
      description: 'Its next run comes at its usual time.',
      request: { params, body: whyBody() },
      responses: {
        200: answer(
          'The jobs that were cancelled.',
          z.object({ cancelled: z.array(id()) }).openapi('Cancelled'),
        ),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const cancelled = await c
        .get('view')
        .connections.cancel(c.req.valid('param').id, given(c.req.valid('json')));
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
      summary: 'Go back to an earlier cursor',
      description:
        'With `job_id`, to the cursor which that job stored; with `cursor`, to that one, or with null to the beginning.',
      request: {
        params,
        body: body(
          strict({
            job_id: id().openapi({ description: 'Go back to the cursor which this job stored.' }).optional(),
            cursor: anyJson('Go to this cursor of its connector; null: to the beginning.').optional(),
            reason: reason().optional(),
          })
            .refine((to) => 'job_id' in to !== 'cursor' in to, 'must hold either job_id or cursor')
            .openapi('Rewind'),
        ),
      },
      responses: { 200: answer('The connection as it is now.', connectionSchema), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const { job_id: jobId, cursor, reason } = c.req.valid('json');
      const { connections } = c.get('view');
      await connections.rewind(id, jobId === undefined ? { cursor } : { jobId }, given({ reason }));
      return c.json(connectionJson(await connections.get(id)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'post',
      path: '/v1/connections/repair-schedule',
      operationId: 'repairSchedule',
      tags,
      security,
      summary: 'Re-place times that lie too far ahead',
      description:
        'Moves `next_run_at` of active connections, and `scheduled_at` and `retry_after` of their queued jobs, back to where the schedule has them if they lie further ahead than it allows. All others stay as they are. One bounded step: repeat it with `next_cursor` until that is null.',
      request: {
        body: body(
          strict({
            dry_run: z
              .boolean()
              .openapi({ description: 'Report what would change, and change nothing.' })
              .optional(),
            reason: reason().optional(),
            limit: z.int().min(1).max(100).optional(),
            cursor: text(2000).optional(),
          }),
          { required: false },
        ),
      },
      responses: { 200: answer('The result of this step.', repairSchema), ...bodyProblems() },
    }),
    async (c) => {
      const { dry_run: dryRun, ...rest } = c.req.valid('json');
      const step = await c.get('view').connections.repairSchedule({ ...given({ dryRun }), ...given(rest) });
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
      summary: 'Do the same to many connections',
      description:
        'One bounded step, which may end before the limit when it takes long. Repeat it with `next_cursor` until that is null. One that fails is named, and does not keep the others from it.',
      request: {
        body: body(
          strict({
            action: z.enum(['pause', 'resume', 'trigger', 'cancel', 'delete']),
            filter: strict(connectionFilter),
            reason: reason().optional(),
            limit: z.int().min(1).max(100).optional(),
            cursor: text(2000).optional(),
          }),
        ),
      },
      responses: {
        200: answer(
          'What this step came to.',
          z
            .object({
              matched: z.int(),
              changed: z.int(),
              failed: z.array(z.object({ id: id(), detail: z.string() })),
              next_cursor: z.string().nullable(),
            })
            .openapi('BulkResult'),
        ),
        ...bodyProblems(),
      },
    }),
    async (c) => {
      const { action, filter, ...rest } = c.req.valid('json');
      const done = await c.get('view').connections.bulk({
        action: action === 'delete' ? 'remove' : action,
        filter: filterOf(filter),
        ...given(rest),
      });
      const failed = done.failed.map(({ id, message }) => ({ id, detail: message }));
      return c.json(
        { matched: done.matched, changed: done.changed, failed, next_cursor: done.nextCursor ?? null },
        200,
      );
    },
  );
}
