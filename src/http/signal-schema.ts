import { z } from '@hono/zod-openapi';
import { id, provider, text, time } from './parts.ts';

export const signalSchema = z
  .object({
    id: id(),
    tenant_id: id(),
    provider: z.string().openapi({ example: 'github' }),
    connection_id: id(),
    connection_name: z.string().nullable().openapi({ description: 'The external id of the connection.' }),
    job_id: id().nullable().openapi({ description: 'The job that stored the signal.' }),
    kind: z.string().openapi({ example: 'issue.opened' }),
    occurred_at: time().nullable(),
    received_at: time(),
    dedupe_key: z.string().nullable(),
    payload: z.any().optional().openapi({ description: 'The payload returned by the connector.' }),
  })
  .openapi('Signal');

export const fedSignalSchema = signalSchema
  .extend({
    cursor: z.string().openapi({ description: 'Feed position; pass it as `after` to continue from here.' }),
  })
  .openapi('FedSignal');

export const signalFilterQuery = {
  connection_id: id().optional(),
  provider: provider().optional(),
  kind: text(200).optional(),
  tenant_id: id().optional(),
};
