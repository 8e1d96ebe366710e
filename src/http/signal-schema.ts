import { z } from '@hono/zod-openapi';
import { id, provider, text, time } from './parts.ts';

/** A signal, as lists, the feed and the live stream show it. */
export const signalSchema = z
  .object({
    id: id(),
    tenant_id: id(),
    provider: z.string().openapi({ example: 'github' }),
    connection_id: id(),
    connection_name: z.string().nullable().openapi({ description: 'The external id of its connection.' }),
    job_id: id().nullable().openapi({ description: 'The job whose run stored it.' }),
    kind: z.string().openapi({ example: 'issue.opened' }),
    occurred_at: time().nullable(),
    received_at: time(),
    dedupe_key: z.string().nullable(),
    payload: z.any().optional().openapi({ description: 'As its connector gave it.' }),
  })
  .openapi('Signal');

export const fedSignalSchema = signalSchema
  .extend({
    cursor: z.string().openapi({ description: 'Its place in the feed: go on after it with `after`.' }),
  })
  .openapi('FedSignal');

/** Which signals are wanted. */
export const signalFilterQuery = {
  connection_id: id().optional(),
  provider: provider().optional(),
  kind: text(200).optional(),
  tenant_id: id().optional(),
};
