import { createRoute, z } from '@hono/zod-openapi';
import { operatorOnly } from '../auth.ts';
import type { App } from '../context.ts';
import { id, strict, time } from '../parts.ts';
import { answer, problems, signedIn } from '../responses.ts';
import { systemJson } from '../stats-json.ts';
import { queueSchema } from '../stats-schema.ts';

const systemSchema = z
  .object({
    version: z.string(),
    node: z.string(),
    schema: z.string(),
    schema_version: z.int(),
    processes: z.array(
      z.object({
        id: id(),
        host: z.string().nullable(),
        pid: z.int().nullable(),
        roles: z.array(z.string()),
        concurrency: z.int().nullable(),
        providers: z.array(z.string()),
        started_at: time().nullable(),
        expires_at: time().nullable(),
        alive: z.boolean(),
        running: z.int(),
        clock_skew_seconds: z.int().openapi({
          description: 'Clock difference to the database; positive: ahead.',
        }),
      }),
    ),
    queue: queueSchema,
    tables: z.array(
      z.object({
        name: z.string(),
        bytes: z.number(),
        rows_estimate: z.number(),
        dead_rows_estimate: z.number(),
        last_vacuum_at: time().nullable(),
      }),
    ),
    database_bytes: z.number(),
    retention: z.object({
      ended_jobs_days: z.int(),
      events_days: z.int(),
      signals_days: z.int(),
      stats_days: z.int(),
    }),
    config: z.array(z.object({ path: z.string(), value: z.string(), about: z.string() })),
  })
  .openapi('System');

export function systemRoutes(app: App, version: string): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/system',
      operationId: 'getSystem',
      middleware: operatorOnly,
      tags: ['System'],
      security: signedIn,
      summary: 'Show the system',
      description: 'Operators only. Processes, tables, retention and effective configuration.',
      request: { query: strict({}) },
      responses: { 200: answer('The system.', systemSchema), ...problems() },
    }),
    async (c) => c.json(systemJson(await c.get('view').system(), version), 200),
  );
}
