import { requireText } from './checks.ts';
import type { Ports } from './ports.ts';
import type { Queryable } from './store/database.ts';
import { insertEvents, type NewEvent } from './store/events.ts';

/** Who does something to a connection, and why. Kept as an event. */
export interface Doer {
  /** A person or a program; `api` unless given. */
  actor?: string;
  reason?: string;
}

export async function recordEvent(
  tx: Queryable,
  now: Date,
  ports: Pick<Ports, 'newId'>,
  event: Omit<NewEvent, 'id' | 'actor' | 'reason'>,
  { actor = 'api', reason }: Doer,
): Promise<void> {
  requireText('actor', actor, 200);
  if (reason !== undefined) requireText('reason', reason, 1000);
  await insertEvents(tx, now, [{ id: ports.newId(), ...event, actor, reason: reason ?? null }]);
}
