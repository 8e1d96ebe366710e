import { requireOneOf, requireText, requireUuid } from './checks.ts';
import { filteredPage, keyOf, mostScanned, type Page, uuidPart } from './page.ts';
import {
  type ConnectionFilter,
  type ConnectionRow,
  lastListed,
  listConnections,
} from './store/connections.ts';
import type { Queryable } from './store/database.ts';

const connectionStatuses = ['active', 'paused', 'needs_auth', 'disabled'] as const;
const connectionHealths = ['ok', 'failing', 'paused', 'needs_auth', 'disabled'] as const;

/** A page of rows, in the order of their ids. */
export async function listPage(
  tx: Queryable,
  filter: ConnectionFilter,
  cursor: string | undefined,
  limit: number,
): Promise<Page<ConnectionRow>> {
  const after = keyOf('connections', cursor, [uuidPart])?.[0];
  const rows = await listConnections(tx, filter, { after, limit: limit + 1, scan: mostScanned });
  return filteredPage(
    'connections',
    limit,
    rows,
    ({ id }) => [id],
    async () => {
      const last = await lastListed(tx, filter, { after, scan: mostScanned });
      return last === undefined ? undefined : [last];
    },
  );
}

export function requireFilter({ tenantId, status, health, search }: ConnectionFilter): void {
  if (tenantId !== undefined) requireUuid('tenantId', tenantId);
  if (status !== undefined) requireOneOf('status', status, connectionStatuses);
  if (health !== undefined) requireOneOf('health', health, connectionHealths);
  if (search !== undefined) requireText('search', search, 500);
}
