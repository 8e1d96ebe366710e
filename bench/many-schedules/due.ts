import type pg from 'pg';
import type { Fleet } from '../tools/fleet.ts';

export interface Due {
  /** Their numbers: from the first on, and around. */
  first: number;
  count: number;
  from: Date;
  overSeconds: number;
}

/** Has some connections of the fleet come due, evenly over so many seconds. The one before ended an interval before that. */
export async function makeDue(
  client: pg.Client,
  { schema, size }: Fleet,
  { first, count, from, overSeconds }: Due,
): Promise<void> {
  await client.query(
    `UPDATE ${schema}.connections c
     SET metadata = ${schema}.patch_sync(c.metadata, jsonb_build_object(
           'next_run_at', to_char(due.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
         last_incremental_ended_at = due.due_at - (c.metadata #>> '{sync,interval_seconds}')::int * interval '1 s'
     FROM (
       SELECT md5('connection' || 1 + (n + $2::int) % ${size})::uuid AS id,
         date_trunc('milliseconds', $1::timestamptz + n * $4::float8 / $3::int * interval '1 s') AS due_at
       FROM generate_series(0, $3::int - 1) n) due
     WHERE c.id = due.id`,
    [from, first, count, overSeconds],
  );
}
