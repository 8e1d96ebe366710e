import { filteredPageById, mapPage, type Page, type PageRequest, pageLimit } from '../caller/keyset.ts';
import type { Database } from '../store/database.ts';
import { type EventFilter, lastEventListed, listEvents } from '../store/events.ts';
import { requireText, requireUuid } from '../values/arguments.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { type AuditEvent, auditEventFromRow } from './model.ts';

/** Filter and page of `audit.list`. */
export interface ListedEvents extends EventFilter, PageRequest {}

/** The audit log. */
export interface AuditApi {
  /** Newest first, within their retention. */
  list(request?: ListedEvents): Promise<Page<AuditEvent>>;
}

export function createAudit({ db, json }: { db: Database; json: ReadJson }): AuditApi {
  return {
    async list({ cursor, limit: requestedLimit, ...filter } = {}) {
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
      return mapPage(page, (row) => auditEventFromRow(row, json));
    },
  };
}
