import { nilUuid } from '../values/uuid.ts';
import type { Queryable } from './database.ts';
import { isPending } from './job-statuses.ts';
import { sql } from './sql.ts';

/** A job whose tenant or provider differs from its connection's. */
export interface ForeignRow {
  id: string;
  connection_id: string;
  tenant_id: string;
  provider_slug: string;
}

/** Jobs read per scan. A connection has at most three pending ones, so each scan advances. */
const maxScanned = 10_000;

const findForeignSql = sql<ForeignRow>`
  SELECT j.id, j.connection_id, j.tenant_id, j.provider_slug
  FROM (
    SELECT id, connection_id, tenant_id, provider_slug, status, blocked FROM :schema.sync_jobs
    WHERE ${isPending} AND connection_id >= :from ORDER BY connection_id LIMIT ${maxScanned}) j
  JOIN :schema.connections c ON c.id = ANY (ARRAY[j.connection_id])
  WHERE j.status = 'queued' AND NOT j.blocked AND j.provider_slug <> ALL (:served::text[])
    AND (j.tenant_id <> c.tenant_id OR j.provider_slug <> c.provider_slug)`;

const lastScannedSql = sql<{ connection_id: string }>`
  SELECT connection_id FROM :schema.sync_jobs
  WHERE ${isPending} AND connection_id >= :from ORDER BY connection_id OFFSET ${maxScanned - 1} LIMIT 1`;

/**
 * Scans pending jobs by connection, because the index of waiting jobs cannot continue within equal times.
 * Without jobs of providers in `served`. `next`: where the next scan starts; undefined after the last job.
 */
export async function findForeign(
  db: Queryable,
  { served, from = nilUuid }: { served: readonly string[]; from: string | undefined },
): Promise<{ foreign: ForeignRow[]; next: string | undefined }> {
  const last = await lastScannedSql.first(db, { from });
  const foreign = await findForeignSql.all(db, { served, from });
  return { foreign, next: last?.connection_id };
}

const correctOwnersSql = sql<object>`
  UPDATE :schema.sync_jobs j SET tenant_id = c.tenant_id, provider_slug = c.provider_slug, updated_at = :now
  FROM :schema.connections c
  WHERE j.id = ANY (:jobIds::uuid[]) AND c.id = ANY (ARRAY[j.connection_id])`;

/** EXE-13: claims find a job by its row's provider, so the row must name the connection's. */
export async function correctOwners(tx: Queryable, now: Date, jobIds: string[]): Promise<void> {
  await correctOwnersSql.all(tx, { now, jobIds });
}
