import { cursorTo, filteredPageById, keyOf, type Page, uuidPart } from '../../caller/keyset.ts';
import {
  type ConnectionFilter,
  lastListed,
  listConnections,
  recentRuns,
} from '../../store/connection-lists.ts';
import type { ConnectionRow } from '../../store/connections.ts';
import type { Queryable } from '../../store/database.ts';
import { requireOneOf, requireText, requireUuid } from '../../values/arguments.ts';
import type { RecentRun } from './model.ts';

const connectionStatuses = ['active', 'paused', 'needs_auth', 'disabled'] as const;
const connectionHealths = ['ok', 'failing', 'paused', 'needs_auth', 'disabled'] as const;

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
    const durationMs =
      run.started_at && run.finished_at
        ? Math.max(0, run.finished_at.getTime() - run.started_at.getTime())
        : undefined;
    const list = byConnection.get(run.connection_id) ?? [];
    const status = run.status === 'completed' ? 'succeeded' : run.status;
    list.push({ jobId: run.id, status, endedAt: run.ended_at, durationMs, signals: run.signal_count });
    byConnection.set(run.connection_id, list);
  }
  return byConnection;
}
