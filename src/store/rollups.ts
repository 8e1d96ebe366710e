import type { Queryable } from './database.ts';
import { ageEdgesSeconds, lagEdgesMs } from './rollup-buckets.ts';

const lagColumns = Array.from({ length: lagEdgesMs.length + 1 }, (_, i) => `lag_${i}`);
const ageColumns = Array.from({ length: ageEdgesSeconds.length + 1 }, (_, i) => `age_${i}`);
const counters = ['succeeded', 'failed', 'retried', 'signals'] as const;
const columns = [...counters, ...lagColumns, ...ageColumns];

const addCounts = columns.map((column) => `${column} = r.${column} + excluded.${column}`).join(', ');

export interface Counts {
  succeeded: number;
  failed: number;
  retried: number;
  signals: number;
  /** Buckets: `lagEdgesMs`. */
  lag: number[];
  /** Buckets: `ageEdgesSeconds`. */
  age: number[];
}

export interface RollupWrite extends Counts {
  tenantId: string;
  provider: string;
}

const values = ({ succeeded, failed, retried, signals, lag, age }: Counts) => [
  succeeded,
  failed,
  retried,
  signals,
  ...lag,
  ...age,
];

/** Rows are sorted: one lock order, no deadlocks. */
export async function addRollups(
  tx: Queryable,
  minute: Date,
  slot: number,
  writes: RollupWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const key = ({ tenantId, provider }: RollupWrite) => `${tenantId} ${provider}`;
  const rows = [...writes].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const counts = rows.map(values);
  const parameters = columns.map((_, i) => `$${i + 5}::int[]`).join(', ');
  await tx.query(
    `INSERT INTO ${tx.schema}.rollups AS r (minute, slot, tenant_id, provider_slug, ${columns.join(', ')})
     SELECT $1, $2::smallint, n.* FROM unnest($3::uuid[], $4::text[], ${parameters}) AS n
     ON CONFLICT (tenant_id, minute, provider_slug, slot) DO UPDATE
     SET ${addCounts}`,
    [
      minute,
      slot,
      rows.map((row) => row.tenantId),
      rows.map((row) => row.provider),
      ...columns.map((_, i) => counts.map((row) => row[i])),
    ],
  );
}

/** Steps without ended jobs are missing. */
export async function sumRollups(
  db: Queryable,
  {
    from,
    to,
    stepSeconds,
    provider,
  }: { from: Date; to: Date; stepSeconds: number; provider?: string | undefined },
): Promise<(Counts & { at: Date })[]> {
  const sums = columns.map((column) => `sum(${column})::float8 AS ${column}`).join(', ');
  const rows = await db.query<{ at: Date } & Record<string, number>>(
    `SELECT date_bin($1::float8 * interval '1 second', minute, $2) AS at, ${sums}
     FROM ${db.tables.rollups} r
     WHERE minute >= $2 AND minute < $3 AND ($4::text IS NULL OR provider_slug = $4)
     GROUP BY 1 ORDER BY 1`,
    [stepSeconds, from, to, provider],
  );
  return rows.map((row) => ({
    at: row.at,
    succeeded: row['succeeded'] ?? 0,
    failed: row['failed'] ?? 0,
    retried: row['retried'] ?? 0,
    signals: row['signals'] ?? 0,
    lag: lagColumns.map((column) => row[column] ?? 0),
    age: ageColumns.map((column) => row[column] ?? 0),
  }));
}

/** Merges minutes into hours, oldest first; returns the number of rows merged. */
export async function mergeRollups(tx: Queryable, cutoff: Date, limit: number): Promise<number> {
  const [row] = await tx.query<{ merged: number }>(
    `WITH fine AS (
       DELETE FROM ${tx.schema}.rollups WHERE (tenant_id, minute, provider_slug, slot) IN (
         SELECT tenant_id, minute, provider_slug, slot FROM ${tx.schema}.rollups
         WHERE slot >= 0 AND minute < $1 ORDER BY minute LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING *
     ), hours AS (
       INSERT INTO ${tx.schema}.rollups AS r (tenant_id, minute, provider_slug, slot, ${columns.join(', ')})
       SELECT tenant_id, date_bin('1 hour', minute, '2000-01-01Z'), provider_slug, -1, ${columns.map((column) => `sum(${column})`).join(', ')}
       FROM fine GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
       ON CONFLICT (tenant_id, minute, provider_slug, slot) DO UPDATE SET ${addCounts}
     )
     SELECT count(*)::int AS merged FROM fine`,
    [cutoff, limit],
  );
  return row?.merged ?? 0;
}

export async function deleteRollups(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.rollups
     WHERE (tenant_id, minute, provider_slug, slot) IN (
       SELECT tenant_id, minute, provider_slug, slot FROM ${db.schema}.rollups
       WHERE slot < 0 AND minute < $1 ORDER BY minute LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING 1`,
    [cutoff, limit],
  );
  return rows.length;
}
