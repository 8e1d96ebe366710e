import { createRoute, z } from '@hono/zod-openapi';
import { SynclineError } from '../../contract/errors.ts';
import type { Syncline } from '../../index.ts';
import { isoTime } from '../../values/time-text.ts';
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

/** Probes are unauthenticated and not rate limited. */
const freshMs = 1000;

/** No details: unauthenticated. */
export function healthRoutes(app: App, syncline: Syncline): void {
  const readiness = createReadiness(syncline);

  app.openapi(
    createRoute({
      method: 'get',
      path: '/healthz',
      operationId: 'isAlive',
      tags,
      security,
      summary: 'Liveness check',
      description: 'Does not query the database: restarting the process would not fix it.',
      responses: {
        200: answer('The process is alive.', z.object({ status: z.literal('ok') }).openapi('Health')),
      },
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
      summary: 'Readiness check',
      description: 'Checks the database, its schema version, and that a scheduler has ticked recently.',
      responses: { 200: answer('Ready.', readySchema), 503: answer('Not ready.', readySchema) },
    }),
    async (c) => {
      const result = await readiness();
      return result.status === 'ok' ? c.json(result, 200) : c.json(result, 503);
    },
  );
}

function createReadiness(syncline: Syncline): () => Promise<Readiness> {
  const { monotonicMs } = syncline.ports;
  let latest: { freshUntilMs: number; readiness: Promise<Readiness> } | undefined;
  return () => {
    if (latest && monotonicMs() < latest.freshUntilMs) return latest.readiness;
    const current = { freshUntilMs: Number.POSITIVE_INFINITY, readiness: readinessOf(syncline) };
    void current.readiness.then(() => {
      current.freshUntilMs = monotonicMs() + freshMs;
    });
    latest = current;
    return current.readiness;
  };
}

async function readinessOf(syncline: Syncline): Promise<Readiness> {
  try {
    const { lastTickAt, maxTickAgeSeconds, now } = await syncline.status();
    const ageSeconds = lastTickAt && Math.max(0, Math.round((now.getTime() - lastTickAt.getTime()) / 1000));
    const ok = ageSeconds !== undefined && ageSeconds <= maxTickAgeSeconds;
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
