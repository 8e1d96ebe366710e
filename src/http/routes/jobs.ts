import { createRoute, z } from '@hono/zod-openapi';
import { jobDetailJson, jobJson } from '../../api/index.ts';
import { jobStatus } from '../connection-schema.ts';
import type { App } from '../context.ts';
import {
  anyJson,
  id,
  listJson,
  listOf,
  omitUndefined,
  orNull,
  pageQuery,
  provider,
  reason,
  strict,
  time,
  timeInQuery,
} from '../parts.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';

const jobType = z.enum(['incremental', 'full', 'webhook']);

const errorSchema = z
  .object({
    kind: z.string().openapi({ example: 'rate_limited' }),
    name: z.string().openapi({ example: 'RateLimitedError' }),
    message: z.string(),
    at: z.string(),
    hint: z.string().optional(),
  })
  .openapi('JobError');

const jobSchema = z
  .object({
    id: id(),
    tenant_id: id(),
    provider: z.string().openapi({ example: 'github' }),
    connection_id: id(),
    connection_name: z.string().nullable().openapi({ description: 'The external id of the connection.' }),
    type: jobType,
    status: jobStatus,
    priority: z.int(),
    attempts: z.int().openapi({ description: 'Number of earlier failures.' }),
    scheduled_at: time().nullable(),
    retry_after: time().nullable(),
    started_at: time().nullable(),
    finished_at: time().nullable(),
    duration_ms: z.number().nullable(),
    signals: z.int().openapi({ description: 'Number of stored signals.' }),
    cursor: anyJson('Cursor of this job; null: the cursor of the connection.'),
    next_cursor: anyJson('Cursor stored by this job.'),
    error: orNull(errorSchema),
    blocked: z.boolean().openapi({
      description: 'Queued, but the connection is not active or is running another job.',
    }),
    created_at: time(),
  })
  .openapi('Job');

const jobDetailSchema = jobSchema
  .extend({
    verdict: z.string().openapi({ description: 'Outcome in one sentence.' }),
    attempts_log: z.array(
      z
        .object({
          number: z.int(),
          outcome: z.enum(['succeeded', 'failed', 'retried', 'lost', 'cancelled', 'running']),
          started_at: time().nullable(),
          ended_at: time().nullable(),
          duration_ms: z.number().nullable(),
          error: orNull(errorSchema),
          retry_after: time().nullable(),
          log: z.array(
            z.object({
              at: time(),
              level: z.string().openapi({ example: 'info' }),
              message: z.string(),
              fields: z.record(z.string(), z.unknown()),
            }),
          ),
        })
        .openapi('Attempt'),
    ),
  })
  .openapi('JobDetail');

const tags = ['Jobs'];
const security = signedIn;
const params = z.object({ id: id() });

export function jobRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/jobs',
      operationId: 'listJobs',
      tags,
      security,
      summary: 'List jobs',
      description: 'Newest first.',
      request: {
        query: strict({
          status: jobStatus.optional(),
          provider: provider().optional(),
          connection_id: id().optional(),
          tenant_id: id().optional(),
          type: jobType.optional(),
          since: timeInQuery('Created at or after this time.').optional(),
          until: timeInQuery('Created before this time.').optional(),
          ...pageQuery,
        }),
      },
      responses: { 200: answer('A page of jobs.', listOf('Job', jobSchema)), ...problems() },
    }),
    async (c) => {
      const { connection_id: connectionId, tenant_id: tenantId, ...rest } = c.req.valid('query');
      const page = await c.get('view').jobs.list(omitUndefined({ ...rest, connectionId, tenantId }));
      return c.json(listJson(page, jobJson), 200);
    },
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/jobs/{id}',
      operationId: 'getJob',
      tags,
      security,
      summary: 'Show a job',
      description: 'With all attempts and the connector logs.',
      request: { params },
      responses: { 200: answer('The job.', jobDetailSchema), ...problems(404) },
    }),
    async (c) => c.json(jobDetailJson(await c.get('view').jobs.get(c.req.valid('param').id)), 200),
  );

  for (const action of ['cancel', 'retry'] as const)
    app.openapi(
      createRoute({
        method: 'post',
        path: `/v1/jobs/{id}/${action}`,
        operationId: `${action}Job`,
        tags,
        security,
        summary: action === 'cancel' ? 'Cancel a job' : 'Run a job again',
        description:
          action === 'cancel'
            ? 'Cancels a queued or running job. A running job stores no further signals.'
            : 'A job in backoff becomes due immediately; a finished job is queued again as a new job.',
        request: { params, body: body(strict({ reason: reason().optional() }), { required: false }) },
        responses: { 200: answer('The updated or new job.', jobSchema), ...bodyProblems(404, 409) },
      }),
      async (c) => {
        const job = await c
          .get('view')
          .jobs[action](c.req.valid('param').id, omitUndefined(c.req.valid('json')));
        return c.json(jobJson(job), 200);
      },
    );
}
