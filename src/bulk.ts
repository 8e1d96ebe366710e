import { requireOneOf } from './checks.ts';
import { listPage, requireFilter } from './connection-page.ts';
import type { createControl } from './control.ts';
import type { Doer } from './doer.ts';
import { SynclineError } from './errors.ts';
import { type PageRequest, pageLimit } from './page.ts';
import type { ConnectionFilter } from './store/connection-lists.ts';
import type { Database } from './store/database.ts';

const bulkActions = ['pause', 'resume', 'trigger', 'cancel', 'remove'] as const;
type BulkAction = (typeof bulkActions)[number];

export interface BulkRequest extends PageRequest, Doer {
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

/** Does something to every connection that matches, a bounded step at a time: whoever asks can show how far it has come. */
export function createBulk({ db, control }: { db: Database; control: ReturnType<typeof createControl> }) {
  const actions: Record<BulkAction, (id: string, doer: Doer) => Promise<unknown>> = {
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
      const { items, nextCursor } = await db.transaction((tx) =>
        listPage(tx, filter, cursor, pageLimit(limit)),
      );
      const failed: BulkStep['failed'] = [];
      for (const { id } of items) {
        try {
          await actions[action](id, doer);
        } catch (error) {
          if (!(error instanceof SynclineError)) throw error;
          // Gone meanwhile: there is nothing left to do to it.
          if (error.code !== 'NOT_FOUND') failed.push({ id, message: error.message });
        }
      }
      const changed = items.length - failed.length;
      return { matched: items.length, changed, failed, nextCursor };
    },
  };
}
