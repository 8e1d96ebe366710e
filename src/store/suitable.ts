import { SynclineError } from '../contract/errors.ts';

type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

interface DatabaseTraits {
  encoding: string;
  replication_role: string;
  /** `schema_migrations` and `connections` or `sync_jobs` have our columns. */
  is_ours: boolean;
  /** Objects with Syncline's names. */
  taken: string[];
}

const findTraitsText = `SELECT current_setting('server_encoding') AS encoding,
     current_setting('session_replication_role') AS replication_role,
     (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE n.nspname = $1 AND c.relname = 'schema_migrations' AND c.relkind = 'r'
        AND (a.attname, a.atttypid) IN (
          ('version', 'int4'::regtype), ('name', 'text'::regtype), ('applied_at', 'timestamptz'::regtype)
        )) = 3
       AND EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE n.nspname = $1 AND (c.relname, a.attname, a.atttypid) IN (
          ('connections', 'provider_slug', 'text'::regtype), ('sync_jobs', 'connection_id', 'uuid'::regtype)
        )) AS is_ours,
     ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = $1 AND c.relname = ANY ($2::text[] || $3::text[])
           -- A table has a type of its name.
           UNION SELECT t.typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
           WHERE n.nspname = $1 AND t.typname = ANY ($2::text[])
           UNION SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
           WHERE n.nspname = $1 AND p.proname = ANY ($4::text[])
           ORDER BY 1) AS taken`;

export interface ObjectNames {
  tables: readonly string[];
  /** Indexes and sequences share the tables' namespace. */
  others: readonly string[];
  functions: readonly string[];
}

/** `isOurs`: the tables are Syncline's; another program may own `schema_migrations`. */
export interface Suitable {
  isOurs: boolean;
  /** Existing objects with one of the names. */
  taken: readonly string[];
}

/** DB-5: throws if unusable. */
export async function requireSuitable(
  query: Query,
  schema: string,
  { tables, others, functions }: ObjectNames,
): Promise<Suitable> {
  const [found] = await query<DatabaseTraits>(findTraitsText, [schema, tables, others, functions]);
  const { encoding, replication_role, is_ours: isOurs, taken } = found as DatabaseTraits;
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
  if (!isOurs) requireNone(taken, schema, 'Set SYNCLINE_DATABASE_SCHEMA to another schema.');
  return { isOurs, taken };
}

export function requireNone(foreign: readonly string[], schema: string, fix: string): void {
  if (foreign.length === 0) return;
  throw new SynclineError(
    'SCHEMA_FOREIGN',
    `The schema "${schema}" contains another program's tables or other objects named like Syncline's: ` +
      `${foreign.join(', ')}.`,
    { hint: `${fix} Nothing was changed.` },
  );
}
