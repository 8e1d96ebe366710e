import { SynclineError } from '../contract/errors.ts';

type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

interface Found {
  encoding: string;
  replication_role: string;
  /** Whether its `schema_migrations` is the one that `migrate` makes. */
  is_ours: boolean;
  /** Names in the schema that tables of the engine have. */
  taken: string[];
}

/**
 * DB-5: refuses a database that the engine cannot work in. Returns whether the schema holds the engine's tables. A schema with other
 * tables of the same names is not the engine's, whether or not another program keeps a `schema_migrations` there, too.
 */
export async function requireSuitable(
  query: Query,
  schema: string,
  tableNames: readonly string[],
): Promise<boolean> {
  const [found] = await query<Found>(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('session_replication_role') AS replication_role,
       (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE n.nspname = $1 AND c.relname = 'schema_migrations' AND c.relkind = 'r'
          AND (a.attname, a.atttypid) IN (('version', 'int4'::regtype), ('name', 'text'::regtype), ('applied_at', 'timestamptz'::regtype))) = 3 AS is_ours,
       ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = $1 AND c.relname = ANY ($2::text[]) ORDER BY 1) AS taken`,
    [schema, tableNames],
  );
  const { encoding, replication_role, is_ours, taken } = found as Found;
  if (encoding !== 'UTF8') {
    throw new SynclineError(
      'DATABASE_UNSUITABLE',
      `The database has the encoding ${encoding}; Syncline needs UTF8.`,
      { hint: "Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0. Nothing was changed." },
    );
  }
  if (replication_role !== 'origin') {
    throw new SynclineError(
      'DATABASE_UNSUITABLE',
      `session_replication_role is ${replication_role} for this role or database, which disables the triggers that Syncline relies on.`,
      { hint: 'ALTER ROLE … RESET session_replication_role, or the same for the database.' },
    );
  }
  if (!is_ours && taken.length > 0) {
    throw new SynclineError(
      'SCHEMA_FOREIGN',
      `The schema "${schema}" holds tables of another program that have names of Syncline's: ${taken.join(', ')}.`,
      { hint: 'Set SYNCLINE_DATABASE_SCHEMA to another schema. Nothing was changed.' },
    );
  }
  return is_ours;
}
