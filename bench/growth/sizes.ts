import type pg from 'pg';

/** A table of the engine at one moment. */
export interface TableSize {
  table: string;
  tableBytes: number;
  indexBytes: number;
  totalBytes: number;
  liveRows: number;
  deadRows: number;
  /** How often autovacuum has been through it. */
  autovacuums: number;
}

/** Smaller ones say nothing. */
const leastBytes = 256 * 1024;

export async function readSizes(client: pg.Client, schema: string): Promise<TableSize[]> {
  const { rows } = await client.query<TableSize>(
    `SELECT relname AS table, pg_relation_size(relid)::float8 AS "tableBytes", pg_indexes_size(relid)::float8 AS "indexBytes",
       pg_total_relation_size(relid)::float8 AS "totalBytes", n_live_tup::float8 AS "liveRows",
       n_dead_tup::float8 AS "deadRows", autovacuum_count::float8 AS autovacuums
     FROM pg_stat_user_tables WHERE schemaname = $1 AND pg_total_relation_size(relid) >= ${leastBytes}
     ORDER BY "totalBytes" DESC`,
    [schema],
  );
  return rows;
}
