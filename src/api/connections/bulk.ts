import type { AuditNote } from '../../caller/audit.ts';
import { type PageRequest, pageLimit } from '../../caller/keyset.ts';
import { SynclineError } from '../../contract/errors.ts';
import type { Ports } from '../../platform/ports.ts';
import type { ConnectionFilter } from '../../store/connection-lists.ts';
import type { Database } from '../../store/database.ts';
import { isLockTimeout } from '../../store/database-errors.ts';
import { requireOneOf } from '../../values/arguments.ts';
import type { createControl } from './lifecycle.ts';
import { cursorAfter, listPage, requireFilter } from './list.ts';

const bulkActions = ['pause', 'resume', 'trigger', 'cancel', 'remove'] as const;
type BulkAction = (typeof bulkActions)[number];

export interface BulkRequest extends PageRequest, AuditNote {
  action: BulkAction;
  filter: ConnectionFilter;
}

/** What one step did. */
export interface BulkStep {
  matched: number;
  changed: number;
  /** Those that it could not be done to, and why. */
  failed: { id: string; message: string }[];
  /** Where the next step goes on; undefined when all that match have been dealt with. */
  nextCursor: string | undefined;
}

/** Few wait for an answer for longer than a minute. A step that takes so long ends with what it has done. */
const maxMs = 20_000;

/** Does something to every connection that matches, a bounded step at a time: whoever asks can show how far it has come. */
export function createBulk({
  db,
  ports,
  control,
}: {
  db: Database;
  ports: Pick<Ports, 'monotonicMs'>;
  control: ReturnType<typeof createControl>;
}) {
  const actions: Record<BulkAction, (id: string, doer: AuditNote) => Promise<unknown>> = {
    pause: control.pause,
    resume: control.resume,
    trigger: control.trigger,
    cancel: control.cancel,
    remove: control.remove,
  };

  return {
    async bulk({ action, filter, cursor, limit, ...doer }: BulkRequest): Promise<BulkStep> {
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
          await actions[action](id, doer);
        } catch (error) {
          const message = failureOf(error);
          if (message !== undefined) failed.push({ id, message });
        }
        if (ports.monotonicMs() - startedMs >= maxMs && i < items.length - 1)
          return step(i + 1, cursorAfter(id));
      }
      return step(items.length, nextCursor);
    },
  };
}

/** Why it could not be done to one connection; what would keep it from all others too is thrown. */
function failureOf(error: unknown): string | undefined {
  if (isLockTimeout(error)) return 'Somebody else is changing it, and has not finished. Try again.';
  if (!(error instanceof SynclineError)) throw error;
  // Gone meanwhile: there is nothing left to do to it.
  return error.code === 'NOT_FOUND' ? undefined : error.message;
}
