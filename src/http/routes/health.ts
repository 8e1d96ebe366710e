import { createRoute, z } from '@hono/zod-openapi';
import { SynclineError } from '../../errors.ts';
import { systemPorts } from '../../ports.ts';
import type { Syncline } from '../../syncline.ts';
import { isoTime } from '../../times.ts';
import type { App } from '../context.ts';
import { time } from '../parts.ts';
import { answer } from '../responses.ts';

const readySchema = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    checks: z.object({
      database: z.boolean(),
      schema: z.boolean(),
      last_tick: z.object({
        at: time().nullable(),
        age_seconds: z.number().nullable(),
        ok: z.boolean(),
      }),
    }),
  })
  .openapi('Readiness');

type Readiness = z.infer<typeof readySchema>;

const tags = ['Health'];
const security: [] = [];

/** Anybody may ask, so the database is asked once a second at most. */
const freshMs = 1000;

/** What probes ask. Neither needs a key, and neither says more than yes or no. */
export function healthRoutes(app: App, syncline: Syncline): void {
  let latest: { at: number; readiness: Promise<Readiness> } | undefined;

  app.openapi(
    createRoute({
      method: 'get',
      path: '/healthz',
      operationId: 'isAlive',
      tags,
      security,
      summary: 'Is the process alive?',
      description: 'Asks nothing of the database: a restart would not help that.',
      responses: { 200: answer('It is.', z.object({ status: z.literal('ok') }).openapi('Health')) },
    }),
    (c) => c.json({ status: 'ok' as const }, 200),
  );

  app.openapi(
    createRoute({
      method: 'get',
      path: '/readyz',
      operationId: 'isReady',
      tags,
      security,
      summary: 'Is everything in order?',
      description: 'The database answers, its schema fits, and a scheduler has ticked lately.',
      responses: { 200: answer('It is.', readySchema), 503: answer('It is not.', readySchema) },
    }),
    async (c) => {
      const now = systemPorts.now();
      if (!latest || now - latest.at > freshMs) latest = { at: now, readiness: readinessOf(syncline, now) };
      const readiness = await latest.readiness;
      return readiness.status === 'ok' ? c.json(readiness, 200) : c.json(readiness, 503);
    },
  );
}

async function readinessOf(syncline: Syncline, nowMs: number): Promise<Readiness> {
  try {
    const { lastTickAt, tickIntervalSeconds } = await syncline.status();
    const ageSeconds = lastTickAt && Math.max(0, Math.round((nowMs - lastTickAt.getTime()) / 1000));
    const ok = ageSeconds !== undefined && ageSeconds <= 3 * tickIntervalSeconds;
    const lastTick = { at: isoTime(lastTickAt), age_seconds: ageSeconds ?? null, ok };
    return {
      status: ok ? 'ok' : 'unavailable',
      checks: { database: true, schema: true, last_tick: lastTick },
    };
  } catch (error) {
    const isReached = error instanceof SynclineError && error.code.startsWith('SCHEMA_');
    const lastTick = { at: null, age_seconds: null, ok: false };
    return {
      status: 'unavailable',
      checks: { database: isReached, schema: false, last_tick: lastTick },
    };
  }
}
