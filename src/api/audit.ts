import { filteredPageById, mapPage, type Page, type PageRequest, pageLimit } from '../caller/keyset.ts';
import type { Database } from '../store/database.ts';
import {
  type EventFilter,
  type EventKind,
  type EventWithDetail,
  lastEventListed,
  listEvents,
} from '../store/events.ts';
import { requireText, requireUuid } from '../values/arguments.ts';
import type { ReadJson } from '../values/stored-json.ts';

export interface AuditEvent {
  id: string;
  at: Date;
  kind: EventKind;
  actor: string;
  /** API key used, directly or through a session; undefined for the CLI and the library. */
  keyId: string | undefined;
  reason: string | undefined;
  tenantId: string | undefined;
  connectionId: string | undefined;
  jobId: string | undefined;
  detail: unknown;
}

export function createAudit({ db, json }: { db: Database; json: ReadJson }) {
  return {
    /** All changes, newest first, within their retention. */
    async list({
      cursor,
      limit: requestedLimit,
      ...filter
    }: PageRequest & EventFilter = {}): Promise<Page<AuditEvent>> {
      const limit = pageLimit(requestedLimit);
      if (filter.tenantId !== undefined) requireUuid('tenantId', filter.tenantId);
      if (filter.connectionId !== undefined) requireUuid('connection', filter.connectionId);
      if (filter.keyId !== undefined) requireUuid('keyId', filter.keyId);
      if (filter.kind !== undefined) requireText('kind', filter.kind, 100);
      const page = await filteredPageById(
        'events',
        { cursor, limit, filter },
        (before, bounds) => listEvents(db, filter, { before, ...bounds }),
        (before, scan) => lastEventListed(db, filter, { before, scan }),
      );
      return mapPage(page, (row) => toEvent(row, json));
    },
  };
}

const toEvent = (row: EventWithDetail, json: ReadJson): AuditEvent => ({
  id: row.id,
  at: row.created_at,
  kind: row.kind,
  actor: row.actor,
  keyId: row.key_id ?? undefined,
  reason: row.reason ?? undefined,
  tenantId: row.tenant_id ?? undefined,
  connectionId: row.connection_id ?? undefined,
  jobId: row.job_id ?? undefined,
  detail: row.detail === null ? undefined : json(row.detail),
});
