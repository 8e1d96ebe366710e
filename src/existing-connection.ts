import { notFound, requireUuid } from './checks.ts';
import type { Ports } from './ports.ts';
import {
  type ConnectionRow,
  findConnection,
  type LockedConnection,
  lockConnection,
} from './store/connections.ts';
import type { Database, Queryable } from './store/database.ts';
import { wakeExecutors } from './store/wake.ts';

/** A connection that somebody named, as it is. */
export async function existingConnection(db: Queryable, id: string): Promise<ConnectionRow> {
  requireUuid('connection', id);
  const row = await findConnection(db, id);
  if (!row) throw noConnection(id);
  return row;
}

interface ChangeOptions {
  /** Whether there may be a job to claim afterwards. */
  wakesExecutors?: boolean;
  lockTimeoutMs?: number;
}

/** Changes a connection that somebody named, in one transaction that locks it first, as everybody does. */
export async function changeConnection<T>(
  { db, ports }: { db: Database; ports: Ports },
  id: string,
  work: (tx: Queryable, row: LockedConnection, now: Date) => Promise<T>,
  { wakesExecutors = false, ...options }: ChangeOptions = {},
): Promise<T> {
  requireUuid('connection', id);
  return db.transaction(async (tx) => {
    const row = await lockConnection(tx, id);
    if (!row) throw noConnection(id);
    const result = await work(tx, row, new Date(ports.now()));
    if (wakesExecutors) await wakeExecutors(tx);
    return result;
  }, options);
}

const noConnection = (id: string) => notFound(`connection ${id}`);
