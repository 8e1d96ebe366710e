import { SynclineError } from '../contract/errors.ts';

type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

interface DatabaseTraits {
  encoding: string;
  replication_role: string;
  /** `schema_migrations` has our columns. */
  is_ours: boolean;
  /** Tables with Syncline's names. */
  taken: string[];
}

const findTraitsText = `SELECT current_setting('server_encoding') AS encoding,
    current_setting('session_replication_role') AS replication_role,
    (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE n.nspname = $1 AND c.relname = 'schema_migrations' AND c.relkind = 'r'
       AND (a.attname, a.atttypid) IN (
         ('version', 'int4'::regtype), ('name', 'text'::regtype), ('applied_at', 'timestamptz'::regtype)
       )) = 3 AS is_ours,
    ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = $1 AND c.relname = ANY ($2::text[]) ORDER BY 1) AS taken`;

/** DB-5: throws if unusable. false: another program may own `schema_migrations`. */
export async function requireSuitable(
  query: Query,
  schema: string,
  tableNames: readonly string[],
): Promise<boolean> {
  const [found] = await query<DatabaseTraits>(findTraitsText, [schema, tableNames]);
  const { encoding, replication_role, is_ours, taken } = found as DatabaseTraits;
  if (encoding !== 'UTF8') {
    throw new SynclineError(
      'DATABASE_UNSUITABLE',
      `The database encoding is ${encoding}; Syncline requires UTF8.`,
      {
        hint:
          "Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0. " + 'Nothing was changed.',
      },
    );
  }
  if (replication_role !== 'origin') {
    throw new SynclineError(
      'DATABASE_UNSUITABLE',
      `session_replication_role is ${replication_role} for this role or database, ` +
        "which disables Syncline's triggers.",
      { hint: 'Run ALTER ROLE … RESET session_replication_role, or ALTER DATABASE … RESET.' },
    );
  }
  if (!is_ours && taken.length > 0) {
    throw new SynclineError(
      'SCHEMA_FOREIGN',
      `The schema "${schema}" contains another program's tables named like Syncline's: ${taken.join(', ')}.`,
      { hint: 'Set SYNCLINE_DATABASE_SCHEMA to another schema. Nothing was changed.' },
    );
  }
  return is_ours;
}
