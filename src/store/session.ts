import type pg from 'pg';
import { type ClockRow, clockColumn } from './clock.ts';
import { isCancelled } from './database-errors.ts';

/**
 * DB-5: settings that change what a statement means, returns or waits for. Left to the operator:
 * `synchronous_commit` (doctor reports it), `role`, `row_security`, tablespaces, memory, costs, logging.
 */
const sessionSettings = {
  client_encoding: 'UTF8',
  // The driver's only format; it misreads historical sub-minute offsets.
  DateStyle: 'ISO, YMD',
  TimeZone: 'UTC',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  // Fewer digits would round feed positions.
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  // Other schemas could shadow built-ins; table names are qualified.
  search_path: 'pg_catalog, pg_temp',
  // After waiting for a row, a statement must see its committed version.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  exit_on_error: 'off',
  // The pool closes idle connections.
  idle_session_timeout: 0,
  // Index access.
  enable_indexscan: 'on',
  enable_indexonlyscan: 'on',
  enable_nestloop: 'on',
  // Whether triggers fire and derive due_at; the feed batch.
  'syncline.triggers': 'on',
  'syncline.due_at': 'derived',
  'syncline.batch': '',
};

type Settings = Record<string, string | number>;

/** Qualified: search_path may contain another `set_config`. */
function setConfigs(settings: Settings, isLocal: boolean): string[] {
  return Object.entries(settings).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', ${isLocal})`,
  );
}

/** Since Postgres 17. */
const transactionTimeout = (isLocal: boolean) =>
  `CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 170000
     THEN pg_catalog.set_config('transaction_timeout', '0', ${isLocal}) END`;

/** A role may allow less than the next statement takes. Each statement has its own timeout. */
const withoutTimeouts = `SET LOCAL statement_timeout = 0; SELECT ${transactionTimeout(true)}`;

/** A role's timeout of milliseconds can cancel BEGIN on a busy server. */
const maxOpenings = 5;

interface SessionKind {
  /** With other clients (transaction pooler). */
  isShared: boolean;
  /**
   * For a setting of role or database. A read-only server (maintenance, full disk) or URL stays read-only and
   * is reported.
   */
  overridesReadOnly: boolean;
  /** Empty if shared. */
  settings: Settings;
}

const sessionKinds = new WeakMap<pg.ClientBase, SessionKind>();
const kindOf = (client: pg.ClientBase): SessionKind =>
  sessionKinds.get(client) ?? { isShared: true, overridesReadOnly: false, settings: {} };

/** A shared session keeps no state: transactions set it. */
export const isShared = (client: pg.ClientBase): boolean => kindOf(client).isShared;

/**
 * Not on a shared session, where a pooler's backend keys differ from pg_backend_pid(). Returns the
 * database's time.
 */
export async function openSession(
  client: pg.ClientBase,
  extra: Settings,
  timeoutMs: number,
): Promise<number> {
  const settings = { ...sessionSettings, ...extra };
  const assigned = [...setConfigs(settings, false), transactionTimeout(false)];
  const { processID } = client as unknown as { processID: number | null };
  const statement: pg.QueryConfig & { query_timeout: number } = {
    text: `BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE; ${withoutTimeouts};
     SELECT NOT is_own AS "isShared", overrides AS "overridesReadOnly",
       CASE WHEN is_own THEN ARRAY[${assigned.join(', ')}] END AS set,
       CASE WHEN is_own AND overrides
         THEN pg_catalog.set_config('default_transaction_read_only', 'off', false) END AS writable,
       ${clockColumn}
     FROM (SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) ${Number(processID ?? 0)} AS is_own,
       EXISTS (SELECT FROM pg_catalog.pg_settings
         WHERE name OPERATOR(pg_catalog.=) 'default_transaction_read_only'
         AND source OPERATOR(pg_catalog.=) ANY (ARRAY['database', 'user',
           'database user'])) AS overrides) session; COMMIT`,
    query_timeout: timeoutMs,
  };
  const results = await firstCompleted(client, statement);
  const [session] = (results as pg.QueryResult<Omit<SessionKind, 'settings'> & ClockRow>[]).slice(-2);
  const row = session?.rows[0];
  if (!row) throw new Error('The statement that opens a session returned no row.');
  const { isShared, overridesReadOnly } = row;
  sessionKinds.set(client, { isShared, overridesReadOnly, settings: isShared ? {} : settings });
  return row.now_ms;
}

async function firstCompleted(client: pg.ClientBase, statement: pg.QueryConfig): Promise<unknown> {
  for (let openings = 1; ; openings++) {
    try {
      return await client.query(statement);
    } catch (error) {
      if (openings === maxOpenings || !isCancelled(error)) throw error;
      // BEGIN may have succeeded.
      await client.query('ROLLBACK').catch(() => {});
    }
  }
}

/** Returns one row with `columns`. */
export function beginText(
  client: pg.ClientBase,
  isReadOnly: boolean,
  settings: Settings,
  columns: readonly string[] = [],
): string {
  const { isShared, overridesReadOnly, settings: applied } = kindOf(client);
  const access = isReadOnly ? ', READ ONLY' : overridesReadOnly ? ', READ WRITE' : '';
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED${access}, NOT DEFERRABLE`;
  const timeouts = isShared ? `; ${withoutTimeouts}` : '';
  const writable = overridesReadOnly ? { default_transaction_read_only: 'off' } : {};
  const required: Settings = isShared ? { ...sessionSettings, ...writable, ...settings } : settings;
  const changed = Object.entries(required).filter(([name, value]) => applied[name] !== value);
  const selected = [...setConfigs(Object.fromEntries(changed), true), ...columns];
  return `${begin}${timeouts}; SELECT ${selected.join(', ')}`;
}
