import { z } from '@hono/zod-openapi';
import { anyJson, id, omitUndefined, provider, text, time } from './parts.ts';

export const jobStatus = z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']);

export const connectionSchema = z
  .object({
    id: id(),
    tenant_id: id(),
    tenant_name: z.string().nullable().openapi({ example: 'Northwind' }),
    provider: z.string().openapi({ example: 'github' }),
    provider_name: z.string().nullable().openapi({ example: 'GitHub' }),
    external_id: z.string().nullable().openapi({ description: "The provider's id of the account." }),
    credential_id: id().nullable().openapi({ description: 'The credential that its runs use.' }),
    status: z.enum(['active', 'paused', 'needs_auth', 'disabled']),
    health: z.enum(['ok', 'failing', 'needs_auth', 'paused', 'disabled']),
    failing_since: time().nullable(),
    failure: z.string().nullable().openapi({
      description:
        'Kind of the latest failure: rate_limited, unauthorized, permanent, cursor_expired or transient.',
      example: 'rate_limited',
    }),
    deleting_since: time()
      .nullable()
      .openapi({ description: 'When its deletion started. It is then `disabled` and cannot be changed.' }),
    interval_seconds: z
      .int()
      .nullable()
      .openapi({ description: 'Configured interval; null: the default interval.' }),
    base_interval_seconds: z.int().openapi({ description: 'Effective interval.', example: 900 }),
    next_start_at: time().nullable().openapi({ description: 'Expected start of the next run.' }),
    next_run_at: time()
      .nullable()
      .openapi({ description: 'When the scheduler queues the next job, from its metadata.' }),
    last_ended_at: time().nullable(),
    first_activated_at: time().nullable(),
    last_jitter_seconds: z.number().nullable(),
    cursor: anyJson('Sync cursor of its connector; null before the first run.'),
    config: z.record(z.string(), z.unknown()).openapi({ description: 'Connector configuration.' }),
    invalid_metadata: z
      .array(z.object({ field: z.string(), value: z.string(), expected: z.string() }))
      .openapi({ description: 'Invalid metadata fields; they are ignored.' }),
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
      .openapi({ description: 'Latest runs, newest first; only with `include=recent`.' }),
  })
  .openapi('Connection');

/** For lists and bulk actions. */
export const connectionFilter = {
  tenant_id: id().optional(),
  provider: provider().optional(),
  status: z.enum(['active', 'paused', 'needs_auth', 'disabled']).optional(),
  health: z.enum(['ok', 'failing', 'needs_auth', 'paused', 'disabled']).optional(),
  search: text(500).openapi({ description: 'An id, or a prefix of an external id.' }).optional(),
};

type Filter = z.output<z.ZodObject<typeof connectionFilter>>;

export function filterOf({ tenant_id: tenantId, provider, status, health, search }: Filter) {
  return omitUndefined({ tenantId, provider, status, health, search });
}
