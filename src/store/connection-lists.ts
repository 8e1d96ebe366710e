import {
  type ConnectionHealth,
  type ConnectionRow,
  type ConnectionStatus,
  connectionColumns,
} from './connections.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

export interface ConnectionFilter {
  tenantId?: string | undefined;
  provider?: string | undefined;
  status?: ConnectionStatus | undefined;
  health?: ConnectionHealth | undefined;
  /** An id, or a prefix of external_id. */
  search?: string | undefined;
}

interface Walk {
  after: string | undefined;
  limit: number;
}

/** Index conditions. */
const indexed = `($1::uuid IS NULL OR c.tenant_id = $1) AND ($2::text IS NULL OR c.status = $2 AND c.status <> 'active')
  AND (NOT $3::boolean OR c.failing_since IS NOT NULL) AND ($4::text IS NULL OR c.external_id LIKE $4) AND ($5::uuid IS NULL OR c.id = $5)
  AND ($6::uuid IS NULL OR c.id > $6)`;

/** Row filters. */
const filtered = `($7::text IS NULL OR c.provider_slug = $7) AND ($8::text IS NULL OR c.status = $8)
  AND ($9::text IS NULL OR c.status = $9) AND ($10::boolean IS NULL OR (c.failing_since IS NOT NULL) = $10)`;

function filterValues(
  { tenantId, provider, status, health, search }: ConnectionFilter,
  after: string | undefined,
) {
  const isFailing = { ok: false, failing: true }[health as string];
  const healthStatus = isFailing === undefined ? health : 'active';
  const isId = search !== undefined && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(search);
  const inactive = [status, healthStatus].find((value) => value !== undefined && value !== 'active');
  return {
    indexed: [
      tenantId,
      inactive,
      isFailing === true,
      search === undefined || isId ? null : `${search.replaceAll(/[\\%_]/g, '\\$&')}%`,
      isId ? search : null,
      after,
    ],
    filtered: [provider, status, healthStatus, isFailing],
  };
}

/** Reads at most `scan` rows. */
export function listConnections(
  db: Queryable,
  filter: ConnectionFilter,
  { after, limit, scan }: Walk & { scan: number },
): Promise<(ConnectionRow & Listed)[]> {
  const values = filterValues(filter, after);
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.connections} c WHERE ${indexed} ORDER BY c.id LIMIT $11) c
     WHERE ${filtered} ORDER BY c.id LIMIT $12`;
  const columns = ['metadata', 'config', 'external_id', 'failure'];
  const cut = { columns, order: 'p.id', above: '$12' } as const;
  return db.query<ConnectionRow & Listed>(
    `SELECT ${connectionColumns(db)}, c.followed FROM ${withinBytes(page, cut)} c ORDER BY c.id`,
    [...values.indexed, ...values.filtered, scan, limit],
  );
}

/** The last row scanned; undefined at the end. */
export async function lastListed(
  db: Queryable,
  filter: ConnectionFilter,
  { after, scan }: { after: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT c.id FROM ${db.tables.connections} c WHERE ${indexed} ORDER BY c.id OFFSET $7 LIMIT 1`,
    [...filterValues(filter, after).indexed, scan - 1],
  );
  return row?.id;
}

interface RecentRun {
  connection_id: string;
  id: string;
  status: string;
  ended_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  signal_count: number;
}

export function recentRuns(db: Queryable, ids: string[], perConnection: number): Promise<RecentRun[]> {
  return db.query<RecentRun>(
    `SELECT r.* FROM unnest($1::uuid[]) WITH ORDINALITY AS c (id, n) CROSS JOIN LATERAL (
       SELECT j.connection_id, j.id, j.status, coalesce(j.finished_at, j.updated_at) AS ended_at, j.started_at, j.finished_at, j.signal_count
       FROM ${db.tables.jobs} j
       WHERE j.connection_id = c.id AND j.status IN ('succeeded', 'failed', 'cancelled', 'completed')
       ORDER BY coalesce(j.finished_at, j.updated_at) DESC LIMIT $2) r
     ORDER BY c.n, r.ended_at DESC`,
    [ids, perConnection],
  );
}
