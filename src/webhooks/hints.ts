import type { Gate } from '../gate.ts';
import type { Ports } from '../ports.ts';
import { lockConnection } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { isHinted } from '../store/jobs.ts';
import { wakeExecutors } from '../store/wake.ts';
import { hintPriority, syncNow } from '../trigger.ts';
import { sendersPatience } from './senders.ts';

/** Takes hints that there is something new, and sees to it that a run begins after each. */
export interface Hints {
  /** Resolves when that is certain, whatever becomes of this process. */
  hint(connectionId: string): Promise<void>;
}

/** One look at a connection. */
interface Look {
  done: Promise<void>;
  /** The one after it, for all who came meanwhile: what they know of may be newer than what is being looked at. */
  next: Promise<void> | undefined;
}

/**
 * However many hints come for a connection, one look is under way and one waits. A look that finds an earlier hint still
 * standing writes nothing and locks nothing. No event is recorded: what people did would drown in them.
 */
export function createHints({ db, ports, gate }: { db: Database; ports: Ports; gate: Gate }): Hints {
  /** Holds nothing but what is under way: never more than there are deliveries being answered. */
  const looks = new Map<string, Look>();

  function look(connectionId: string): Promise<void> {
    const done = gate.through(() => place(connectionId));
    const current: Look = { done, next: undefined };
    looks.set(connectionId, current);
    // With another to come it stays until that one begins, so that whoever arrives in between joins it.
    const end = () => {
      if (!current.next) looks.delete(connectionId);
    };
    done.then(end, end);
    return done;
  }

  async function place(connectionId: string): Promise<void> {
    const now = new Date(ports.now());
    if (await isHinted(db.within(sendersPatience.timeoutMs), connectionId, now)) return;
    await db.transaction(async (tx) => {
      const row = await lockConnection(tx, connectionId);
      // What is not active syncs when it is again; what is gone has nothing to sync.
      if (row?.status !== 'active') return;
      await syncNow(tx, row, new Date(ports.now()), {
        type: 'incremental',
        priority: hintPriority,
        newId: () => ports.newId(),
        isHint: true,
      });
      await wakeExecutors(tx);
    }, sendersPatience);
  }

  return {
    hint(connectionId) {
      const current = looks.get(connectionId);
      if (!current) return look(connectionId);
      current.next ??= current.done.catch(() => {}).then(() => look(connectionId));
      return current.next;
    },
  };
}
