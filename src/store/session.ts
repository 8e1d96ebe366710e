import type pg from 'pg';

/**
 * DB-5: every setting that a database or a role may carry (`ALTER DATABASE … SET`, `ALTER ROLE … SET`) and that would change
 * what a statement of the engine means, returns or waits for. Not stated, because they are the operator's decisions:
 * `synchronous_commit` (reported by doctor), `role`, `row_security`, tablespaces, memory, costs, logging.
 */
const sessionSettings = {
  // The driver reads and writes UTF-8.
  client_encoding: 'UTF8',
  // The driver reads times as text and knows one format; a zone that had odd offsets long ago makes text that it misreads.
  DateStyle: 'ISO, YMD',
  TimeZone: 'UTC',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  // Fewer digits would round positions of the feed.
  extra_float_digits: 1,
  // How the text of statements and of array parameters is read.
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  // Functions and operators of another schema could shadow those of Postgres. Tables are always qualified.
  search_path: 'pg_catalog, pg_temp',
  // Locks and retries are written for READ COMMITTED: a statement that waited for a row sees what the other one committed.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // An error would end the session.
  exit_on_error: 'off',
  // An idle connection belongs to the pool, which closes it.
  idle_session_timeout: 0,
  // Statements find their rows by index, planned for the values at hand.
  plan_cache_mode: 'auto',
  enable_indexscan: 'on',
  enable_indexonlyscan: 'on',
  enable_nestloop: 'on',
  // Of the engine itself: whether its triggers act, and the batch of the transaction under way.
  'syncline.triggers': 'on',
  'syncline.batch': '',
};

/** Of a session beside those above, or of one transaction. */
type Settings = Record<string, string | number>;

/** Qualified: until `search_path` is set, a schema of the role's path could hold another `set_config`. */
function setConfigs(settings: Settings, isLocal: boolean): string[] {
  return Object.entries(settings).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', ${isLocal})`,
  );
}

/** Added by Postgres 17; unknown names are refused. */
const transactionTimeout = (isLocal: boolean) =>
  `CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 170000
     THEN pg_catalog.set_config('transaction_timeout', '0', ${isLocal}) END`;

/** What a session is like, as its set-up found it. */
interface SessionKind {
  /** Another client may use it between two transactions of ours, as behind a transaction pooler. */
  isShared: boolean;
  /**
   * The role or the database makes transactions read-only. Where the server does (maintenance, a disk that is nearly full) or the
   * URL, the engine stays read-only, and reports it.
   */
  overridesReadOnly: boolean;
  /** What the session keeps stated; nothing where it is shared. */
  settings: Settings;
}

const kinds = new WeakMap<pg.ClientBase, SessionKind>();
const kindOf = (client: pg.ClientBase): SessionKind =>
  kinds.get(client) ?? { isShared: true, overridesReadOnly: false, settings: {} };

/** Nothing may be left behind on a shared session: every statement states its settings in a transaction. */
export const isShared = (client: pg.ClientBase): boolean => kindOf(client).isShared;

/**
 * States the settings once for a session that is this client's alone. A pooler gives every client a key of its own, so that
 * the process id that it names is not that of the server process; then the statement changes nothing.
 */
export async function openSession(client: pg.ClientBase, own: Settings, timeoutMs: number): Promise<void> {
  const settings = { ...sessionSettings, ...own };
  const { processID } = client as unknown as { processID: number | null };
  const statement: pg.QueryConfig & { query_timeout: number } = {
    text: `SELECT NOT is_own AS "isShared", overrides AS "overridesReadOnly",
       CASE WHEN is_own THEN ARRAY[${[...setConfigs(settings, false), transactionTimeout(false)].join(', ')}] END AS set,
       CASE WHEN is_own AND overrides THEN pg_catalog.set_config('default_transaction_read_only', 'off', false) END AS writable
     FROM (SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) ${Number(processID ?? 0)} AS is_own,
       EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'default_transaction_read_only'
         AND source OPERATOR(pg_catalog.=) ANY (ARRAY['database', 'user', 'database user'])) AS overrides) session`,
    query_timeout: timeoutMs,
  };
  const { rows } = await client.query<Omit<SessionKind, 'settings'>>(statement);
  const [kind] = rows;
  if (kind) kinds.set(client, { ...kind, settings: kind.isShared ? {} : settings });
}

/** Opens a transaction that relies on no setting of its session, and returns a row with the columns. */
export function beginText(
  client: pg.ClientBase,
  isReadOnly: boolean,
  settings: Settings,
  columns: readonly string[] = [],
): string {
  const { isShared, overridesReadOnly, settings: stated } = kindOf(client);
  const access = isReadOnly ? ', READ ONLY' : overridesReadOnly ? ', READ WRITE' : '';
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED${access}, NOT DEFERRABLE`;
  const writable = overridesReadOnly ? { default_transaction_read_only: 'off' } : {};
  const wanted: Settings = isShared ? { ...sessionSettings, ...writable, ...settings } : settings;
  const changed = Object.entries(wanted).filter(([name, value]) => stated[name] !== value);
  const timeout = isShared ? [transactionTimeout(true)] : [];
  const selected = [...setConfigs(Object.fromEntries(changed), true), ...timeout, ...columns];
  return `${begin}; SELECT ${selected.join(', ')}`;
}
