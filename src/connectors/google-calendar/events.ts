import { z } from 'zod';
import { type Signal, versionKey } from '../../connector-kit/index.ts';

/** Of an event that is gone Google guarantees its id, and of an exception to a recurring one little more. */
const eventSchema = z.looseObject({
  id: z.string(),
  status: z.string().optional(),
  etag: z.string().optional(),
  created: z.string().optional(),
  updated: z.string().optional(),
});
type Event = z.output<typeof eventSchema>;

/** A page of `events.list`. The sync token comes with the last page of a walk, and with no other. */
export const pageSchema = z.object({
  items: z.array(eventSchema).default([]),
  nextPageToken: z.string().min(1).optional(),
  nextSyncToken: z.string().min(1).optional(),
});

/** Google stores an event and then touches it once more by itself. */
const stillNewMs = 2000;

/** One version of an event, in one calendar: people who were invited have copies under the same id in theirs. */
export function signalOf(calendar: string, event: Event, seenAt: Date): Signal {
  const { id, etag, updated } = event;
  return {
    kind: kindOf(event),
    occurredAt: instantOf(updated) ?? seenAt,
    payload: { calendar, ...event },
    dedupeKey: versionKey(`${calendar}/${id}`, etag ?? updated ?? 'undated', event),
  };
}

function kindOf({ status, created, updated }: Event): string {
  if (status === 'cancelled') return 'event.cancelled';
  const createdAt = instantOf(created)?.getTime();
  const updatedAt = instantOf(updated)?.getTime();
  const isNew = createdAt !== undefined && updatedAt !== undefined && updatedAt - createdAt <= stillNewMs;
  return isNew ? 'event.created' : 'event.updated';
}

/** Events of old imports carry times such as 0000-12-29T00:00:00.000Z, which no database takes. */
function instantOf(text: string | undefined): Date | undefined {
  const date = new Date(text ?? Number.NaN);
  return date.getUTCFullYear() >= 1970 ? date : undefined;
}
