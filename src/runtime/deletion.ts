import { recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import { describeError } from '../contract/errors.ts';
import { briefLockMs, removeUnused } from '../credentials/index.ts';
import type { Ports } from '../platform/ports.ts';
import { deleteConnection, lockConnection } from '../store/connections.ts';
import type { Database, Queryable } from '../store/database.ts';
import { isUnreachable } from '../store/database-errors.ts';
import {
  advanceDeletion,
  type DeletionRow,
  deleteJobs,
  failDeletion,
  findDeletion,
  finishDeletion,
  takeDeletion,
} from '../store/deletions.ts';
import { deleteSignals } from '../store/signals.ts';
import { recheckRuns } from '../store/wake.ts';
import { notFound, requireUuid } from '../values/arguments.ts';

/** How far the deletion of a connection has come. */
export interface Deletion {
  connectionId: string;
  tenantId: string;
  state: 'deleting' | 'deleted';
  deletedSignals: number;
  /** Exact up to 100,000 when it was requested, an estimate beyond that; never less than `deletedSignals`. */
  estimatedSignals: number;
  /** Why its last batch failed; it is retried. A tenant's view has a fixed sentence instead of the database's error. */
  error: string | undefined;
  requestedAt: Date;
  updatedAt: Date;
  finishedAt: Date | undefined;
}

/** Signals, or jobs, that one transaction deletes. A connection with no more is deleted while its caller waits. */
export const deletionBatch = 5000;
/** After this time a batch that failed is tried again. */
const retryMs = 5000;
const maxErrorLength = 500;
/** What tenants read instead of the database's error. */
export const errorForTenants = 'The last batch failed; it is retried.';

type Context = { db: Database; ports: Ports };
export type DeletionStep = 'none' | 'more' | 'finished';

/** The progress of a deletion; it can be read for a week after the connection is gone. */
export async function deletionOf(db: Queryable, id: string, { tenantId }: Caller): Promise<Deletion> {
  requireUuid('connection', id);
  const row = await findDeletion(db, id);
  if (!row) throw notFound(`deletion of connection ${id}`);
  const deletion = toDeletion(row);
  // The text of Postgres names tables and constraints: it is for operators.
  return tenantId === undefined || deletion.error === undefined
    ? deletion
    : { ...deletion, error: errorForTenants };
}

/**
 * Deletes one batch of the deletion that has waited longest, or of a certain one, in one transaction. The row of the deletion is
 * locked meanwhile: other processes take other deletions, and when this process dies the next one continues.
 */
export async function deleteBatch(
  { db, ports }: Context,
  { connectionId, batch = deletionBatch }: { connectionId?: string; batch?: number } = {},
): Promise<DeletionStep> {
  const now = new Date(ports.now());
  const failedBefore = new Date(now.getTime() - retryMs);
  let taken: DeletionRow | undefined;
  try {
    return await db.transaction(
      async (tx) => {
        taken = await takeDeletion(tx, { connectionId, failedBefore });
        if (!taken) return 'none';
        const id = taken.connection_id;
        const signals = await deleteSignals(tx, id, batch);
        const jobs = signals < batch ? await deleteJobs(tx, id, batch) : 0;
        if (signals + jobs === 0) {
          await finish(tx, now, taken, ports);
          return 'finished';
        }
        await advanceDeletion(tx, now, id, signals);
        return 'more';
      },
      { lockTimeoutMs: briefLockMs },
    );
  } catch (error) {
    // Noted, so that it neither holds up other deletions nor is invisible.
    if (taken && !isUnreachable(error))
      await failDeletion(db, now, taken.connection_id, describeError(error).slice(0, maxErrorLength));
    throw error;
  }
}

/** Signals and jobs are gone: the connection follows with its webhook, and its credential if no other connection uses it. */
async function finish(tx: Queryable, now: Date, deletion: DeletionRow, ports: Ports): Promise<void> {
  const { connection_id: connectionId, tenant_id: tenantId, provider_slug: provider } = deletion;
  const record = recorder(ports, { actor: deletion.actor, keyId: deletion.key_id ?? undefined });
  const doer = deletion.reason === null ? {} : { reason: deletion.reason };
  const row = await lockConnection(tx, connectionId);
  if (row) {
    await deleteConnection(tx, connectionId);
    await recheckRuns(tx);
    const detail = { provider, externalId: deletion.external_id };
    await record(tx, now, { tenantId, connectionId, kind: 'connection.deleted', detail }, doer);
    if (row.credential_id) await removeUnused({ record, doer }, tx, now, row.credential_id);
  }
  await finishDeletion(tx, now, connectionId);
}

const toDeletion = (row: DeletionRow): Deletion => ({
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
