import type { Queryable } from './database.ts';
import { ageEdgesSeconds, lagEdgesMs } from './rollup-buckets.ts';
import { prepared, sql, unnest } from './sql.ts';

const lagColumns = Array.from({ length: lagEdgesMs.length + 1 }, (_, i) => `lag_${i}`);
const ageColumns = Array.from({ length: ageEdgesSeconds.length + 1 }, (_, i) => `age_${i}`);
const counters = ['succeeded', 'failed', 'retried', 'signals'] as const;
const columns = [...counters, ...lagColumns, ...ageColumns];

const countTypes = Object.fromEntries(columns.map((column) => [column, 'int']));
const sums = columns.map((column) => `sum(${column})`).join(', ');
const namedSums = columns.map((column) => `sum(${column})::float8 AS ${column}`).join(', ');
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

const addRollupsSql = prepared<object>`
  INSERT INTO :schema.rollups AS r (minute, slot, tenant_id, provider_slug, ${columns.join(', ')})
  SELECT :minute, :slot::smallint, n.*
  FROM ${unnest('n', { tenantId: 'uuid', provider: 'text', ...countTypes })}
  ON CONFLICT (tenant_id, minute, provider_slug, slot) DO UPDATE
  SET ${addCounts}`;

/** Objects with this many keys are slow to build. */
function columnsOf(writes: readonly RollupWrite[]): Record<string, readonly unknown[]> {
  const values: Record<string, readonly unknown[]> = {};
  for (const name of ['tenantId', 'provider', ...counters] as const)
    values[name] = writes.map((write) => write[name]);
  for (const [i, name] of lagColumns.entries()) values[name] = writes.map(({ lag }) => lag[i]);
  for (const [i, name] of ageColumns.entries()) values[name] = writes.map(({ age }) => age[i]);
  return values;
}

/** Sorted: one lock order, no deadlocks. */
export async function addRollups(
  tx: Queryable,
  minute: Date,
  slot: number,
  writes: RollupWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const key = ({ tenantId, provider }: RollupWrite) => `${tenantId} ${provider}`;
  const sorted = [...writes].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  await addRollupsSql.all(tx, { minute, slot, n: columnsOf(sorted) });
}

const sumRollupsSql = sql<{ at: Date } & Record<string, number>>`
  SELECT date_bin(:stepSeconds::float8 * interval '1 second', minute, :from) AS at, ${namedSums}
  FROM :scope.rollups r
  WHERE minute >= :from AND minute < :to AND (:provider::text IS NULL OR provider_slug = :provider)
  GROUP BY 1 ORDER BY 1`;

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
  const rows = await sumRollupsSql.all(db, { stepSeconds, from, to, provider });
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

const mergeRollupsSql = sql<{ merged: number }>`
  WITH fine AS (
    DELETE FROM :schema.rollups WHERE (tenant_id, minute, provider_slug, slot) IN (
      SELECT tenant_id, minute, provider_slug, slot FROM :schema.rollups
      WHERE slot >= 0 AND minute < :cutoff ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING *
  ), hours AS (
    INSERT INTO :schema.rollups AS r (tenant_id, minute, provider_slug, slot, ${columns.join(', ')})
    SELECT tenant_id, date_bin('1 hour', minute, '2000-01-01Z'), provider_slug, -1, ${sums}
    FROM fine GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (tenant_id, minute, provider_slug, slot) DO UPDATE SET ${addCounts}
  )
  SELECT count(*)::int AS merged FROM fine`;

export async function mergeRollups(tx: Queryable, cutoff: Date, limit: number): Promise<number> {
  const row = await mergeRollupsSql.first(tx, { cutoff, limit });
  return row?.merged ?? 0;
}

const deleteRollupsSql = sql<object>`
  DELETE FROM :schema.rollups
  WHERE (tenant_id, minute, provider_slug, slot) IN (
    SELECT tenant_id, minute, provider_slug, slot FROM :schema.rollups
    WHERE slot < 0 AND minute < :cutoff ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

export async function deleteRollups(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await deleteRollupsSql.all(db, { cutoff, limit });
  return rows.length;
}
