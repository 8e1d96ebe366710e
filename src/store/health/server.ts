import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';

export interface ServerRow {
  version: string;
  version_number: number;
  fsync: boolean;
  full_page_writes: boolean;
  synchronous_commit: string;
  autovacuum: boolean;
  track_counts: boolean;
  /** A replica, or default_transaction_read_only. */
  read_only: boolean;
  max_connections: number;
  /** Reserved for other roles. */
  reserved_connections: number;
  used_connections: number;
  /** Of Syncline, of any schema and role. */
  own_connections: number;
}

const readServerSql = sql<ServerRow>`
  SELECT current_setting('server_version') AS version,
    current_setting('server_version_num')::int AS version_number,
    current_setting('fsync') = 'on' AS fsync, current_setting('full_page_writes') = 'on' AS full_page_writes,
    current_setting('autovacuum') = 'on' AS autovacuum,
    current_setting('track_counts') = 'on' AS track_counts,
    current_setting('synchronous_commit') AS synchronous_commit,
    pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS read_only,
    current_setting('max_connections')::int AS max_connections,
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true), '0')::int AS reserved_connections,
    (SELECT count(*)::int FROM pg_stat_activity WHERE datid IS NOT NULL) AS used_connections,
    (SELECT count(*)::int FROM pg_stat_activity
     WHERE datid IS NOT NULL AND application_name LIKE 'syncline%') AS own_connections`;

export async function readServer(tx: Queryable): Promise<ServerRow> {
  const row = await readServerSql.first(tx);
  return row as ServerRow;
}

/** Blocks vacuum, and keeps the feed waiting for positions of aborted transactions. */
export interface HolderRow {
  kind: 'session' | 'prepared' | 'slot';
  /** Pid, prepared transaction id or slot name. */
  name: string;
  /** application_name or role, never query text. */
  owner: string;
  since: Date | null;
}

const maxShown = 10;

const findHoldersSql = sql<HolderRow>`
  (SELECT 'session' AS kind, pid::text AS name, coalesce(nullif(application_name, ''), usename, '?') AS owner,
     xact_start AS since
   FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND xact_start < :before AND pid <> pg_backend_pid()
   ORDER BY xact_start LIMIT ${maxShown})
  UNION ALL
  (SELECT 'prepared', gid, owner::text, prepared FROM pg_prepared_xacts WHERE prepared < :before
   ORDER BY prepared LIMIT ${maxShown})
  UNION ALL
  (SELECT 'slot', slot_name::text, slot_type, NULL FROM pg_replication_slots
   WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL) LIMIT ${maxShown})`;

/** Transactions older than `before`, and inactive slots. */
export function findHolders(tx: Queryable, before: Date): Promise<HolderRow[]> {
  return findHoldersSql.all(tx, { before });
}

export interface SlotRow {
  name: string;
  kind: string;
  retained_bytes: number;
}

const findGrowingSlotsSql = sql<SlotRow>`
  SELECT slot_name::text AS name, slot_type AS kind,
    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
      ELSE pg_current_wal_lsn() END, restart_lsn)::float8 AS retained_bytes
  FROM pg_replication_slots
  WHERE NOT active AND wal_status = 'extended' AND current_setting('max_slot_wal_keep_size') = '-1'
  ORDER BY restart_lsn LIMIT ${maxShown}`;

/** Inactive slots that retain more WAL than max_wal_size, without a limit. */
export function findGrowingSlots(tx: Queryable): Promise<SlotRow[]> {
  return findGrowingSlotsSql.all(tx);
}

export interface TableCareRow {
  name: string;
  autovacuum_off: boolean;
  live: number;
  dead: number;
  /** At 2 billion the server rejects writes. */
  frozen_age: number;
}

const findTableCareSql = sql<TableCareRow>`
  SELECT c.relname AS name,
    coalesce('autovacuum_enabled=false' = ANY (c.reloptions)
      OR 'autovacuum_enabled=off' = ANY (c.reloptions), false) AS autovacuum_off,
    coalesce(s.n_live_tup, 0)::float8 AS live, coalesce(s.n_dead_tup, 0)::float8 AS dead,
    age(c.relfrozenxid)::float8 AS frozen_age
  FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
  WHERE c.relnamespace = :schemaName::regnamespace AND c.relkind = 'r' ORDER BY c.relname LIMIT 100`;

export function findTableCare(tx: Queryable): Promise<TableCareRow[]> {
  return findTableCareSql.all(tx, { schemaName: tx.schema });
}
