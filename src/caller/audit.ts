import type { Ports } from '../platform/ports.ts';
import type { Queryable } from '../store/database.ts';
import { insertEvents, type NewEvent } from '../store/events.ts';
import { requireText, requireUuid } from '../values/arguments.ts';
import type { Caller } from './caller.ts';

/** Stored with the event of a change. */
export interface AuditNote {
  /** Default: the caller. */
  actor?: string;
  reason?: string;
}

export function requireAuditNote({ actor, reason }: { actor: string; reason?: string | undefined }): void {
  requireText('actor', actor, 200);
  if (reason !== undefined) requireText('reason', reason, 1000);
}

type RecordedEvent = Pick<NewEvent, 'kind'> & Partial<NewEvent>;

export type Recorder = (
  tx: Queryable,
  now: Date,
  events: RecordedEvent | RecordedEvent[],
  note?: AuditNote,
) => Promise<void>;

export function recorder(
  ports: Pick<Ports, 'newId'>,
  { actor: defaultActor, keyId }: Pick<Caller, 'actor' | 'keyId'>,
): Recorder {
  if (keyId !== undefined) requireUuid('keyId', keyId);
  return async (tx, now, events, { actor = defaultActor, reason } = {}) => {
    requireAuditNote({ actor, reason });
    const subject = {
      tenantId: null,
      connectionId: null,
      jobId: null,
      detail: null,
      keyId: keyId ?? null,
    };
    await insertEvents(
      tx,
      now,
      [events].flat().map((event) => ({
        ...subject,
        ...event,
        id: ports.newId(),
        actor,
        reason: reason ?? null,
      })),
    );
  };
}
