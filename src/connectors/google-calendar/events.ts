import { z } from 'zod';
import { type PayloadsOf, type SignalOf, typeOnly, versionKey } from '../../connector-kit/index.ts';

/** Deleted events have only an id, recurrence exceptions little more. */
const eventSchema = z.looseObject({
  id: z.string(),
  status: z.string().optional(),
  etag: z.string().optional(),
  created: z.string().optional(),
  updated: z.string().optional(),
});
type Event = z.output<typeof eventSchema>;

const event = typeOnly<Event & { calendar: string }>();
export const signalSchemas = { 'event.created': event, 'event.updated': event, 'event.cancelled': event };
export type CalendarPayloads = PayloadsOf<typeof signalSchemas>;
export type CalendarSignal = SignalOf<CalendarPayloads>;

/** Only the last page has a sync token. */
export const pageSchema = z.object({
  items: z.array(eventSchema).default([]),
  nextPageToken: z.string().min(1).optional(),
  nextSyncToken: z.string().min(1).optional(),
});

/** Google updates new events itself after creation. */
const creationWindowMs = 2000;

/** With the calendar: invitees' copies have the same id. */
export function signalOf(calendar: string, event: Event, seenAt: Date): CalendarSignal {
  const { id, etag, updated } = event;
  return {
    kind: kindOf(event),
    occurredAt: instantOf(updated) ?? seenAt,
    payload: { calendar, ...event },
    dedupeKey: versionKey(`${calendar}/${id}`, etag ?? updated ?? 'undated', event),
  };
}

function kindOf({ status, created, updated }: Event) {
  if (status === 'cancelled') return 'event.cancelled';
  const createdAt = instantOf(created)?.getTime();
  const updatedAt = instantOf(updated)?.getTime();
  const isNew =
    createdAt !== undefined && updatedAt !== undefined && updatedAt - createdAt <= creationWindowMs;
  return isNew ? 'event.created' : 'event.updated';
}

/** Imported events may have times that Postgres rejects (0000-12-29). */
function instantOf(text: string | undefined): Date | undefined {
  const date = new Date(text ?? Number.NaN);
  return date.getUTCFullYear() >= 1970 ? date : undefined;
}
