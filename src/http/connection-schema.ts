import { z } from '@hono/zod-openapi';
import { anyJson, given, id, provider, text, time } from './parts.ts';

/** A connection, and the ways to choose some of them, as the API describes them. */

export const jobStatus = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']);

export const connectionSchema = z
  .object({
    id: id(),
    tenant_id: id(),
    tenant_name: z.string().nullable().openapi({ example: 'Northwind' }),
    provider: z.string().openapi({ example: 'github' }),
    provider_name: z.string().nullable().openapi({ example: 'GitHub' }),
    external_id: z.string().nullable().openapi({ description: 'What the provider calls it.' }),
    credential_id: id().nullable().openapi({ description: 'What opens the provider for it.' }),
    status: z.enum(['active', 'paused', 'needs_auth', 'disabled']),
    health: z.enum(['ok', 'failing', 'needs_auth', 'paused', 'disabled']),
    failing_since: time().nullable(),
    failure: z.string().nullable().openapi({
      description:
        'What kind of failure its latest run ended with: rate_limited, unauthorized, permanent, cursor_expired or transient.',
      example: 'rate_limited',
    }),
    deleting_since: time()
      .nullable()
      .openapi({ description: 'Since when it is being deleted; it is then `disabled` and refuses changes.' }),
    interval_seconds: z.int().nullable().openapi({ description: 'Its own interval, if it has one.' }),
    base_interval_seconds: z.int().openapi({ description: 'The interval in force.', example: 900 }),
    next_start_at: time().nullable().openapi({ description: 'When its next run is expected to start.' }),
    next_run_at: time()
      .nullable()
      .openapi({ description: 'When the scheduler places its next job, as its metadata says.' }),
    last_ended_at: time().nullable(),
    first_activated_at: time().nullable(),
    last_jitter_seconds: z.number().nullable(),
    cursor: anyJson('How far it is synced, in the words of its connector; null at the beginning.'),
    config: z.record(z.string(), z.unknown()).openapi({ description: 'What its connector is told.' }),
    invalid_metadata: z
      .array(z.object({ field: z.string(), value: z.string(), expected: z.string() }))
      .openapi({ description: 'Fields of its metadata that are wrong, and count as absent.' }),
    created_at: time(),
    updated_at: time(),
    recent: z
      .array(
        z.object({
          job_id: id(),
          status: z.string().openapi({ example: 'succeeded' }),
          ended_at: time().nullable(),
          duration_ms: z.number().nullable(),
          signals: z.int(),
        }),
      )
      .optional()
      .openapi({ description: 'Its latest runs, newest first; only with `include=recent`.' }),
  })
  .openapi('Connection');

/** The same in a query and in the filter of a bulk action. */
export const connectionFilter = {
  tenant_id: id().optional(),
  provider: provider().optional(),
  status: z.enum(['active', 'paused', 'needs_auth', 'disabled']).optional(),
  health: z.enum(['ok', 'failing', 'needs_auth', 'paused', 'disabled']).optional(),
  search: text(500).openapi({ description: 'An id, or the beginning of an external id.' }).optional(),
};

type Filter = z.output<z.ZodObject<typeof connectionFilter>>;

export function filterOf({ tenant_id: tenantId, provider, status, health, search }: Filter) {
  return given({ tenantId, provider, status, health, search });
}
