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
import { deleteSignalsOfConnection } from '../store/signals.ts';
import { recheckRuns } from '../store/wake.ts';
import { notFound, requireUuid } from '../values/arguments.ts';
import { maxErrorLength } from '../values/limits.ts';
import { type Deletion, deletionFromRow } from './model.ts';

/** Per transaction; smaller deletions are synchronous. */
export const deletionBatch = 5000;
const retryMs = 5000;
export const errorForTenants = 'The last batch failed and will be retried.';

type Context = { db: Database; ports: Ports };
export type DeletionStep = 'none' | 'more' | 'finished';

/** Readable for a week. */
export async function deletionOf(db: Queryable, id: string, { tenantId }: Caller): Promise<Deletion> {
  requireUuid('connection', id);
  const row = await findDeletion(db, id);
  if (!row) throw notFound(`deletion of connection ${id}`);
  const deletion = deletionFromRow(row);
  // Postgres errors name tables and constraints.
  return tenantId === undefined || deletion.error === undefined
    ? deletion
    : { ...deletion, error: errorForTenants };
}

/**
 * One batch of `connectionId` or of the oldest deletion. Its row lock sends other processes elsewhere; if
 * this one dies, another continues.
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
        const signals = await deleteSignalsOfConnection(tx, id, batch);
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
    // Others go first; the error is visible.
    if (taken && !isUnreachable(error))
      await failDeletion(db, now, taken.connection_id, describeError(error).slice(0, maxErrorLength));
    throw error;
  }
}

/** With the webhook and an unshared credential. */
async function finish(tx: Queryable, now: Date, deletion: DeletionRow, ports: Ports): Promise<void> {
  const { connection_id: connectionId, tenant_id: tenantId, provider_slug: provider } = deletion;
  const record = recorder(ports, { actor: deletion.actor, keyId: deletion.key_id ?? undefined });
  const auditNote = deletion.reason === null ? {} : { reason: deletion.reason };
  const row = await lockConnection(tx, connectionId);
  if (row) {
    await deleteConnection(tx, connectionId);
    await recheckRuns(tx);
    const detail = { provider, externalId: deletion.external_id };
    await record(tx, now, { tenantId, connectionId, kind: 'connection.deleted', detail }, auditNote);
    if (row.credential_id) await removeUnused({ record, doer: auditNote }, tx, now, row.credential_id);
  }
  await finishDeletion(tx, now, connectionId);
}
