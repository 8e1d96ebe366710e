import { createRoute, z } from '@hono/zod-openapi';
import { jobStatuses, jobTypes } from '../../contract/states.ts';
import { jobDetailJson, jobJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import { id, listJson, pageQuery, provider, reason, strict, timeInQuery } from '../parts.ts';
import { answer, body, bodyProblems, problems, signedIn } from '../responses.ts';

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
          status: z.enum(jobStatuses).optional(),
          provider: provider().optional(),
          connection_id: id().optional(),
          tenant_id: id().optional(),
          type: z.enum(jobTypes).optional(),
          since: timeInQuery('Created at or after this time.').optional(),
          until: timeInQuery('Created before this time.').optional(),
          ...pageQuery,
        }),
      },
      responses: { 200: answer('A page of jobs.', listOf(jobJson)), ...problems() },
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
      description: 'With its stored runs and the connector logs.',
      request: { params },
      responses: { 200: answer('The job.', schemaOf(jobDetailJson)), ...problems(404) },
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
        responses: { 200: answer('The updated or new job.', schemaOf(jobJson)), ...bodyProblems(404, 409) },
      }),
      async (c) => {
        const job = await c
          .get('view')
          .jobs[action](c.req.valid('param').id, omitUndefined(c.req.valid('json')));
        return c.json(jobJson(job), 200);
      },
    );
}
