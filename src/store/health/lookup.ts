import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';
import { estimatedRows } from '../stats.ts';

/** Beyond it, a sample. */
const sampleSize = 20_000;
/** One more shows truncation. */
const maxFound = 100;

const findUnlistedSql = sql<{ id: string }>`
  SELECT c.id FROM (
    SELECT id, tenant_id, external_id FROM :schema.connections TABLESAMPLE SYSTEM (:percent)
    LIMIT ${2 * sampleSize}) c
  WHERE (SELECT l.connection_id FROM :schema.connection_lookup l
         WHERE l.connection_id = c.id AND l.tenant_id = c.tenant_id
           AND l.external_id IS NOT DISTINCT FROM c.external_id) IS NULL
  LIMIT ${maxFound + 1}`;

const findOrphanedSql = sql<{ id: string }>`
  SELECT l.connection_id AS id FROM (
    SELECT connection_id FROM :schema.connection_lookup TABLESAMPLE SYSTEM (:percent)
    LIMIT ${2 * sampleSize}) l
  WHERE (SELECT c.id FROM :schema.connections c WHERE c.id = l.connection_id) IS NULL
  LIMIT ${maxFound + 1}`;

const percentOf = async (tx: Queryable, table: string) =>
  100 * Math.min(1, sampleSize / Math.max(1, await estimatedRows(tx, table)));

export interface LookupDifference {
  /** No row, or another tenant or external id. */
  unlisted: string[];
  /** Rows without a connection. */
  orphaned: string[];
}

/** undefined before the migration fills connection_lookup. */
export async function compareLookup(tx: Queryable): Promise<LookupDifference | undefined> {
  if (!(await tx.lookup.isFilled(tx))) return undefined;
  const unlisted = await findUnlistedSql.all(tx, { percent: await percentOf(tx, 'connections') });
  const orphaned = await findOrphanedSql.all(tx, { percent: await percentOf(tx, 'connection_lookup') });
  return { unlisted: unlisted.map(({ id }) => id), orphaned: orphaned.map(({ id }) => id) };
}
