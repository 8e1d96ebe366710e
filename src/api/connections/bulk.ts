import type { AuditNote } from '../../caller/audit.ts';
import { pageLimit } from '../../caller/keyset.ts';
import { SynclineError } from '../../contract/errors.ts';
import type { Ports } from '../../platform/ports.ts';
import type { Database } from '../../store/database.ts';
import { isLockTimeout } from '../../store/database-errors.ts';
import { requireOneOf } from '../../values/arguments.ts';
import { type BulkAction, bulkActions, type ConnectionControl, type ConnectionsApi } from './api.ts';
import { cursorAfter, listPage, requireFilter } from './list.ts';
import type { BulkStep } from './results.ts';

/** Below common HTTP timeouts. */
const maxStepMs = 20_000;

export function createBulk({
  db,
  ports,
  control,
}: {
  db: Database;
  ports: Pick<Ports, 'monotonicMs'>;
  control: ConnectionControl;
}): Pick<ConnectionsApi, 'bulk'> {
  const actions: Record<BulkAction, (id: string, note: AuditNote) => Promise<unknown>> = {
    pause: control.pause,
    resume: control.resume,
    trigger: control.trigger,
    cancel: control.cancel,
    delete: control.delete,
  };

  return {
    async bulk({ action, filter, cursor, limit, ...note }) {
      requireOneOf('action', action, bulkActions);
      requireFilter(filter);
      const { items, nextCursor } = await listPage(db, filter, cursor, pageLimit(limit));
      const startedMs = ports.monotonicMs();
      const failed: BulkStep['failed'] = [];
      const step = (matched: number, next: string | undefined) => ({
        matched,
        changed: matched - failed.length,
        failed,
        nextCursor: next,
      });
      for (const [i, { id }] of items.entries()) {
        try {
          await actions[action](id, note);
        } catch (error) {
          const message = failureOf(error);
          if (message !== undefined) failed.push({ id, message });
        }
        if (ports.monotonicMs() - startedMs >= maxStepMs && i < items.length - 1)
          return step(i + 1, cursorAfter(id));
      }
      return step(items.length, nextCursor);
    },
  };
}

/** Errors that affect all are rethrown. */
function failureOf(error: unknown): string | undefined {
  if (isLockTimeout(error)) return 'Another transaction is changing this connection. Try again.';
  if (!(error instanceof SynclineError)) throw error;
  // Deleted meanwhile.
  return error.code === 'NOT_FOUND' ? undefined : error.message;
}
