import { SynclineError } from '../contract/errors.ts';
import {
  type ConnectionRow,
  findConnection,
  type LockedConnection,
  lockConnection,
} from '../store/connections.ts';
import type { Database, Queryable } from '../store/database.ts';
import { notFound, requireUuid } from '../values/arguments.ts';

export async function existingConnection(db: Queryable, id: string): Promise<ConnectionRow> {
  requireUuid('connection', id);
  const row = await findConnection(db, id);
  if (!row) throw noConnection(id);
  return row;
}

interface ChangeOptions {
  lockTimeoutMs?: number;
  alsoDeleting?: boolean;
}

export async function changeConnection<T>(
  { db }: { db: Database },
  id: string,
  work: (tx: Queryable, row: LockedConnection, now: Date) => Promise<T>,
  { alsoDeleting = false, ...options }: ChangeOptions = {},
): Promise<T> {
  requireUuid('connection', id);
  return db.transaction(async (tx) => {
    const row = await lockConnection(tx, id);
    if (!row) throw noConnection(id);
    if (!alsoDeleting) requireNotDeleting(row);
    return work(tx, row, tx.now);
  }, options);
}

export function requireNotDeleting(row: Pick<LockedConnection, 'id' | 'deleting_since'>): void {
  if (row.deleting_since)
    throw new SynclineError('CONFLICT', `Connection ${row.id} is being deleted.`, {
      hint: `Its progress: GET /v1/connections/${row.id}/deletion.`,
    });
}

const noConnection = (id: string) => notFound(`connection ${id}`);
