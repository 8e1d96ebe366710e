import type pg from 'pg';

export interface TableSize {
  table: string;
  /** Table, indexes and TOAST. */
  totalBytes: number;
  deadRows: number;
}

const minBytes = 256 * 1024;

/** The tables of a schema that are larger than 256 kB. */
export async function readSizes(client: pg.Client, schemaName: string): Promise<TableSize[]> {
  const { rows } = await client.query<TableSize>(
    `SELECT relname AS table, pg_total_relation_size(relid)::float8 AS "totalBytes", n_dead_tup::float8 AS "deadRows"
     FROM pg_stat_user_tables WHERE schemaname = $1 AND pg_total_relation_size(relid) >= ${minBytes}
     ORDER BY "totalBytes" DESC`,
    [schemaName],
  );
  return rows;
}
