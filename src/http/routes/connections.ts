import { createRoute, z } from '@hono/zod-openapi';
import { connectionJson, deletionJson, type ScheduleInput, scheduleLimits, weekdays } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { listOf, schemaOf } from '../model-schema.ts';
import {
  connectionFilter,
  filterOf,
  id,
  listJson,
  pageQuery,
  provider,
  reason,
  strict,
  text,
} from '../parts.ts';
import { answer, body, bodyProblems, nothing, problems, signedIn } from '../responses.ts';

const tags = ['Connections'];
const security = signedIn;
const params = z.object({ id: id() });
const object = () => z.record(z.string(), z.unknown());
const interval = () => z.int().min(60).openapi({ description: 'In seconds.', example: 300 });

/** The library checks the rest. */
const schedule = () =>
  strict({
    cron: z
      .string()
      .max(scheduleLimits.cronLength)
      .openapi({ description: 'Minute, hour, day, month, weekday.', example: '0 6 * * 1-5' })
      .optional(),
    times_of_day: z
      .array(z.string().max(5))
      .min(1)
      .max(scheduleLimits.timesOfDay)
      .openapi({ description: '`HH:MM`, instead of `cron`.', example: ['06:00', '18:00'] })
      .optional(),
    days_of_week: z
      .array(z.enum(weekdays))
      .min(1)
      .max(weekdays.length)
      .openapi({ description: 'With `times_of_day`; default: every day.', example: ['mon', 'fri'] })
      .optional(),
    time_zone: z
      .string()
      .max(50)
      .openapi({ description: 'IANA time zone; default: UTC.', example: 'Europe/Berlin' })
      .optional(),
  }).openapi('ScheduleInput');

function scheduleOf(input: z.output<ReturnType<typeof schedule>>): ScheduleInput {
  const { cron, times_of_day: timesOfDay, days_of_week: daysOfWeek, time_zone: timeZone } = input;
  return omitUndefined({ cron, timesOfDay, daysOfWeek, timeZone }) as ScheduleInput;
}

export function connectionRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/connections',
      operationId: 'listConnections',
      tags,
      security,
      summary: 'List connections',
      description: 'In creation order, with their health.',
      request: {
        query: strict({
          ...connectionFilter,
          include: z
            .enum(['recent'])
            .openapi({ description: '`recent`: include the latest runs.' })
            .optional(),
          ...pageQuery,
        }),
      },
      responses: {
        200: answer('A page of connections.', listOf(connectionJson)),
        ...problems(),
      },
    }),
    async (c) => {
      const { limit, cursor, include, ...filter } = c.req.valid('query');
      const page = await c.get('view').connections.list({
        ...filterOf(filter),
        ...omitUndefined({ limit, cursor }),
        recent: include === 'recent',
      });
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
      description: 'It is active immediately; the scheduler queues its first run.',
      request: {
        body: body(
          strict({
            tenant_id: id().optional(),
            tenant_name: text(200)
              .openapi({ description: 'Creates a tenant, instead of `tenant_id`. Operators only.' })
              .optional(),
            provider: provider(),
            external_id: text(500).openapi({ description: "The provider's id of the account." }).optional(),
            credential_id: id()
              .openapi({
                description: 'A credential of the same tenant and provider.',
              })
              .optional(),
            interval_seconds: interval().optional(),
            schedule: schedule().optional(),
            config: object().openapi({ description: 'Connector configuration.' }).optional(),
            metadata: object()
              .openapi({ description: 'Free-form; the key `sync` is reserved for the engine.' })
              .optional(),
          }).refine(
            ({ tenant_id, tenant_name }) => (tenant_id === undefined) !== (tenant_name === undefined),
            'must have either tenant_id or tenant_name',
          ),
        ),
      },
      responses: { 201: answer('The new connection.', schemaOf(connectionJson)), ...bodyProblems(404, 409) },
    }),
    async (c) => {
      const {
        tenant_id,
        tenant_name,
        provider,
        external_id,
        credential_id,
        interval_seconds,
        schedule,
        config,
        metadata,
      } = c.req.valid('json');
      const optional = omitUndefined({
        externalId: external_id,
        credentialId: credential_id,
        intervalSeconds: interval_seconds,
        schedule: schedule && scheduleOf(schedule),
        config,
        metadata,
      });
      const tenant = tenant_id === undefined ? { tenantName: tenant_name ?? '' } : { tenantId: tenant_id };
      const created = await c.get('view').connections.create({ ...tenant, provider, ...optional });
      return c.json(connectionJson(created), 201);
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
      responses: { 200: answer('The connection.', schemaOf(connectionJson)), ...problems(404) },
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
      summary: 'Change the interval, schedule, credential or config',
      description:
        'A new interval reschedules the next run and ends a schedule; null restores the default. A new ' +
        'schedule applies from its next occurrence; null returns to the interval. A new credential activates a ' +
        'connection ' +
        'in `needs_auth`; null removes it. A new config replaces the old one, from the next run on.',
      request: {
        params,
        body: body(
          strict({
            interval_seconds: interval().nullable().optional(),
            schedule: schedule().nullable().optional(),
            credential_id: id().nullable().optional(),
            config: object().optional(),
            reason: reason().optional(),
          })
            .refine(
              ({ reason: _, ...change }) => Object.keys(change).length === 1,
              'must have one of interval_seconds, schedule, credential_id and config',
            )
            .openapi('ConnectionChange'),
        ),
      },
      responses: {
        200: answer('The updated connection.', schemaOf(connectionJson)),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const change = c.req.valid('json');
      const { interval_seconds: seconds, credential_id: credentialId, config, reason } = change;
      const { connections } = c.get('view');
      const note = omitUndefined({ reason });
      if (config !== undefined)
        return c.json(connectionJson(await connections.setConfig(id, config, note)), 200);
      if (credentialId !== undefined)
        return c.json(connectionJson(await connections.setCredential(id, credentialId, note)), 200);
      if (change.schedule !== undefined) {
        const next = change.schedule && scheduleOf(change.schedule);
        return c.json(connectionJson(await connections.setSchedule(id, next, note)), 200);
      }
      const changed =
        seconds === null || seconds === undefined
          ? await connections.clearInterval(id, note)
          : await connections.setInterval(id, seconds, note);
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
        'Deletes its jobs, its signals and a credential that only it used. The audit log is kept. With ' +
        'more than 5,000 signals, or while its credential is being refreshed, the response is 202: the ' +
        'connection is disabled, cannot be changed, and is deleted in the background.',
      request: { params, body: body(strict({ reason: reason().optional() }), { required: false }) },
      responses: {
        202: answer('Deletion started; `Location` shows its progress.', schemaOf(deletionJson)),
        204: nothing('Deleted.'),
        ...bodyProblems(404, 409),
      },
    }),
    async (c) => {
      const { id } = c.req.valid('param');
      const deletion = await c.get('view').connections.delete(id, omitUndefined(c.req.valid('json')));
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
      description: 'Available until seven days after the deletion.',
      request: { params },
      responses: { 200: answer('The progress.', schemaOf(deletionJson)), ...problems(404) },
    }),
    async (c) => c.json(deletionJson(await c.get('view').connections.deletion(c.req.valid('param').id)), 200),
  );
}
