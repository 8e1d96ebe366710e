import {
  filteredPage,
  filteredPageById,
  instantPart,
  keyOf,
  mapPage,
  maxScanned,
  type Page,
  pageLimit,
  uuidPart,
} from '../caller/keyset.ts';
import { firstIdAt } from '../caller/time-ids.ts';
import type { Database } from '../store/database.ts';
import type { Listed } from '../store/page-bytes.ts';
import {
  findSignal,
  lastReceivedListed,
  lastSignalListed,
  listReceived,
  listSignals,
  type SignalFilter,
  type SignalRow,
} from '../store/signals.ts';
import { invalid, notFound, requireUuid, show } from '../values/arguments.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { suggestion } from '../values/suggest.ts';
import type { ListedSignals, SignalsApi } from './api.ts';
import { signalFromRow } from './model.ts';

export function createSignals({
  db,
  json,
}: {
  db: Database;
  json: ReadJson;
}): Pick<SignalsApi, 'list' | 'get'> {
  return {
    async list({ cursor, limit: requestedLimit, payload = true, ...filters }: ListedSignals = {}) {
      const limit = pageLimit(requestedLimit);
      const filter = checkedFilter(filters);
      const page: Page<SignalRow> = await (filter.connectionId === undefined
        ? byId()
        : byConnection(filter.connectionId));
      return mapPage(page, (row) => signalFromRow(row, json));

      function byId(): Promise<Page<SignalRow>> {
        return filteredPageById(
          'signals',
          { cursor, limit, filter },
          (before, bounds) => listSignals(db, filter, { before, payload, ...bounds }),
          (before, scan) => lastSignalListed(db, filter, { before, scan }),
        );
      }

      async function byConnection(connectionId: string): Promise<Page<SignalRow>> {
        const [received, id] = keyOf('received', cursor, [instantPart, uuidPart]) ?? [];
        const before = received === undefined || id === undefined ? undefined : { received, id };
        const scan = maxScanned;
        const rows = await listReceived(db, connectionId, filter, {
          before,
          limit: limit + 1,
          payload,
          scan,
        });
        return filteredPage<SignalRow & Listed & { received: string }>(
          'received',
          rows,
          (row) => [row.received, row.id],
          async () => {
            const last = await lastReceivedListed(db, connectionId, { before, scan });
            return last && [last.received, last.id];
          },
        );
      }
    },

    async get(id) {
      requireUuid('signal', id);
      const row = await findSignal(db, id);
      if (!row) throw notFound(`signal ${id}`);
      return signalFromRow(row, json);
    },
  };
}

const filterKeys = ['tenantId', 'connectionId', 'provider', 'kind', 'jobId'];

/** A misspelt filter matches everything. */
export function checkedFilter({ since, until, ...filter }: Omit<ListedSignals, 'payload'>): SignalFilter {
  const unknown = Object.keys(filter).find((key) => !filterKeys.includes(key));
  if (unknown !== undefined)
    throw invalid(
      `There is no option ${show(unknown)}.`,
      suggestion(unknown, ['consumer', 'after', 'limit', 'since', 'until', ...filterKeys]),
    );
  if (filter.tenantId !== undefined) requireUuid('tenantId', filter.tenantId);
  if (filter.connectionId !== undefined) requireUuid('connection', filter.connectionId);
  if (filter.jobId !== undefined) requireUuid('jobId', filter.jobId);
  return { ...filter, from: firstIdAt('since', since), until: firstIdAt('until', until) };
}
