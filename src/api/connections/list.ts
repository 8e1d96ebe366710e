import { cursorTo, filteredPageById, keyOf, type Page, uuidPart } from '../../caller/keyset.ts';
import { connectionHealths, connectionStatuses } from '../../contract/states.ts';
import {
  type ConnectionFilter,
  lastListed,
  listConnections,
  recentRuns,
} from '../../store/connection-lists.ts';
import type { ConnectionRow } from '../../store/connections.ts';
import type { Queryable } from '../../store/database.ts';
import { requireOneOf, requireText, requireUuid } from '../../values/arguments.ts';
import { type RecentRun, recentRunFromRow } from './model.ts';

const list = 'connections';

export const cursorAfter = (id: string) => cursorTo(list, [id]);

export const idAfter = (cursor: string | undefined) => keyOf(list, cursor, [uuidPart])?.[0];

export function listPage(
  tx: Queryable,
  filter: ConnectionFilter,
  cursor: string | undefined,
  limit: number,
): Promise<Page<ConnectionRow>> {
  return filteredPageById(
    list,
    { cursor, limit, filter },
    (after, bounds) => listConnections(tx, filter, { after, ...bounds }),
    (after, scan) => lastListed(tx, filter, { after, scan }),
  );
}

export function requireFilter({ tenantId, status, health, search }: ConnectionFilter): void {
  if (tenantId !== undefined) requireUuid('tenantId', tenantId);
  if (status !== undefined) requireOneOf('status', status, connectionStatuses);
  if (health !== undefined) requireOneOf('health', health, connectionHealths);
  if (search !== undefined) requireText('search', search, 500);
}

const runsInSparkline = 20;

export async function recentOf(tx: Queryable, rows: ConnectionRow[]): Promise<Map<string, RecentRun[]>> {
  const runs = await recentRuns(
    tx,
    rows.map((row) => row.id),
    runsInSparkline,
  );
  const byConnection = new Map<string, RecentRun[]>();
  for (const run of runs) {
    const list = byConnection.get(run.connection_id) ?? [];
    list.push(recentRunFromRow(run));
    byConnection.set(run.connection_id, list);
  }
  return byConnection;
}
