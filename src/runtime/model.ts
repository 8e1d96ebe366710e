import { z } from 'zod';
import type { DeletionRow } from '../store/deletions.ts';
import { jsonOf, maybeText, maybeTime, time, uuid } from '../values/model.ts';

const deletion = z
  .object({
    connectionId: uuid,
    tenantId: uuid,
    state: z.enum(['deleting', 'deleted']),
    deletedSignals: z.int(),
    estimatedSignals: z.int().meta({ description: 'Exact up to 100,000, estimated above.' }),
    error: maybeText.meta({
      description: 'Error of the last batch, which is retried. Only operators see database messages.',
    }),
    requestedAt: time,
    updatedAt: time,
    finishedAt: maybeTime,
  })
  .meta({ id: 'Deletion' });
/** Progress of the deletion of a connection. */
export interface Deletion extends z.output<typeof deletion> {}

export const deletionJson = jsonOf(deletion);

export const deletionFromRow = (row: DeletionRow): Deletion => ({
  connectionId: row.connection_id,
  tenantId: row.tenant_id,
  state: row.finished_at ? 'deleted' : 'deleting',
  deletedSignals: row.deleted_signals,
  estimatedSignals: Math.max(row.estimated_signals, row.deleted_signals),
  error: row.error ?? undefined,
  requestedAt: row.requested_at,
  updatedAt: row.updated_at,
  finishedAt: row.finished_at ?? undefined,
});
