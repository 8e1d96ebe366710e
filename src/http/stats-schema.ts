import { z } from '@hono/zod-openapi';
import { orNull, time } from './parts.ts';

const count = z
  .object({
    count: z.int(),
    at_least: z.boolean().openapi({ description: 'True if counting stopped at `count` and there are more.' }),
  })
  .openapi('Count');

export const queueSchema = z
  .object({ due: count, backing_off: count, blocked: count, running: count })
  .openapi('Queue');

const outcomes = { succeeded: z.int(), failed: z.int(), retried: z.int(), signals: z.int() };

export const overviewSchema = z
  .object({
    now: time(),
    connections: z.object({
      total: count,
      ok: count,
      failing: count,
      needs_auth: count,
      paused: count,
      disabled: count,
    }),
    queue: orNull(queueSchema).openapi({ description: 'Null for tenant keys.' }),
    last_tick_at: time().nullable(),
    executors: z.object({ alive: z.int(), slots: z.int() }).nullable(),
    last_hour: z.object(outcomes),
  })
  .openapi('Overview');

export const seriesSchema = z
  .object({
    from: time(),
    to: time(),
    step_seconds: z.int(),
    points: z.array(
      z.object({
        at: time(),
        ...outcomes,
        lag_p50_ms: z.number().nullable(),
        lag_p95_ms: z.number().nullable(),
        freshness_p50_seconds: z.number().nullable(),
        freshness_p95_seconds: z.number().nullable(),
      }),
    ),
  })
  .openapi('Series');

export const loadSchema = z
  .object({
    minutes: z.array(z.object({ at: time(), runs: z.number() })),
    estimated: z.boolean(),
  })
  .openapi('Load');

export const attentionSchema = z
  .object({
    items: z.array(
      z
        .object({
          cause: z.enum(['needs_auth', 'failing', 'paused', 'overdue', 'too_far_ahead', 'unserved']),
          provider: z.string().nullable(),
          failure: z.string().nullable(),
          count: z.int(),
          at_least: z.boolean(),
          since: time().nullable(),
          message: z.string().nullable(),
          remedy: z.string(),
          filter: z
            .object({ health: z.string().optional(), provider: z.string().optional() })
            .nullable()
            .openapi({
              description: 'Filter for `GET /v1/connections` that lists the affected connections.',
            }),
        })
        .openapi('AttentionItem'),
    ),
  })
  .openapi('Attention');
