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
  /** Replica or default_transaction_read_only. */
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

/** Blocks vacuum; the feed waits for positions of aborted transactions. */
export interface HolderRow {
  kind: 'session' | 'prepared' | 'slot' | 'standby';
  /** Pid, prepared transaction id or slot name. */
  name: string;
  /** Role, or type of the slot. */
  owner: string;
  application: string | null;
  client: string | null;
  state: string | null;
  /** First word: the text may contain secrets. */
  command: string | null;
  since: Date | null;
  /** Age of the oldest snapshot or id held. */
  transactions: number | null;
}

const maxShown = 10;

const findHoldersSql = sql<HolderRow>`
  SELECT * FROM (
    (SELECT 'session' AS kind, pid::text AS name, coalesce(usename, '?')::text AS owner,
       left(nullif(application_name, ''), 64) AS application, host(client_addr) AS client, state,
       upper(substring(query FROM '^\\s*([A-Za-z]{1,20})')) AS command, xact_start AS since,
       greatest(age(backend_xmin), age(backend_xid))::float8 AS transactions
     FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND xact_start < :before AND pid <> pg_backend_pid()
     ORDER BY transactions DESC NULLS LAST, xact_start LIMIT ${maxShown})
    UNION ALL
    (SELECT 'prepared', gid, owner::text, NULL, NULL, NULL, NULL, prepared, age(transaction)::float8
     FROM pg_prepared_xacts WHERE prepared < :before ORDER BY prepared LIMIT ${maxShown})
    UNION ALL
    (SELECT 'slot', slot_name::text, slot_type, NULL, NULL, CASE WHEN active THEN 'active' ELSE 'inactive' END,
       NULL, NULL, greatest(age(xmin), age(catalog_xmin))::float8
     FROM pg_replication_slots
     WHERE (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)
       AND (NOT active OR greatest(age(xmin), age(catalog_xmin)) > :maxTransactions::int) LIMIT ${maxShown})
    UNION ALL
    (SELECT 'standby', pid::text, coalesce(usename, '?')::text, left(nullif(application_name, ''), 64),
       host(client_addr), state, NULL, NULL, age(backend_xmin)::float8
     FROM pg_stat_replication WHERE age(backend_xmin) > :maxTransactions::int LIMIT ${maxShown})) holder
  ORDER BY transactions DESC NULLS LAST, since`;

/** Old transactions, inactive slots, standbys and slots that hold back over `maxTransactions`. */
export function findHolders(
  tx: Queryable,
  { before, maxTransactions }: { before: Date; maxTransactions: number },
): Promise<HolderRow[]> {
  return findHoldersSql.all(tx, { before, maxTransactions });
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

/** Inactive slots without limit that retain more WAL than max_wal_size. */
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
    EXISTS (SELECT FROM pg_options_to_table(c.reloptions)
      WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean) AS autovacuum_off,
    coalesce(s.n_live_tup, 0)::float8 AS live, coalesce(s.n_dead_tup, 0)::float8 AS dead,
    age(c.relfrozenxid)::float8 AS frozen_age
  FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
  WHERE c.relnamespace = :schemaName::regnamespace AND c.relkind = 'r' ORDER BY c.relname LIMIT 100`;

export function findTableCare(tx: Queryable): Promise<TableCareRow[]> {
  return findTableCareSql.all(tx, { schemaName: tx.schema });
}
