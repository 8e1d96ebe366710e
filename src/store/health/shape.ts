import type { Queryable } from '../database.ts';

export interface PartRow {
  table_name: string;
  name: string;
  /** Invalid index, disabled trigger or unvalidated constraint. */
  broken: boolean;
  /** Without schema name: comparable, and executable under any search_path. */
  definition: string;
}

export function findIndexes(tx: Queryable): Promise<PartRow[]> {
  return tx.query<PartRow>(
    `SELECT t.relname AS table_name, c.relname AS name, NOT (i.indisvalid AND i.indisready) AS broken,
       replace(pg_get_indexdef(i.indexrelid), to_regnamespace($1)::text || '.', '') AS definition
     FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
     WHERE t.relnamespace = to_regnamespace($1) AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
     ORDER BY 1, 2 LIMIT 1000`,
    [tx.schema],
  );
}

export function findTriggers(tx: Queryable): Promise<PartRow[]> {
  return tx.query<PartRow>(
    `SELECT t.relname AS table_name, g.tgname AS name, g.tgenabled IN ('D', 'R') AS broken,
       replace(pg_get_triggerdef(g.oid), to_regnamespace($1)::text || '.', '') AS definition
     FROM pg_class t JOIN pg_trigger g ON g.tgrelid = t.oid
     WHERE t.relnamespace = to_regnamespace($1) AND NOT g.tgisinternal ORDER BY 1, 2 LIMIT 1000`,
    [tx.schema],
  );
}

/** Without NOT NULL, a constraint only since Postgres 18. */
export function findConstraints(tx: Queryable): Promise<PartRow[]> {
  return tx.query<PartRow>(
    `SELECT t.relname AS table_name, k.conname AS name, NOT k.convalidated AS broken,
       replace(pg_get_constraintdef(k.oid), to_regnamespace($1)::text || '.', '') AS definition
     FROM pg_class t JOIN pg_constraint k ON k.conrelid = t.oid
     WHERE t.relnamespace = to_regnamespace($1) AND k.contype IN ('p', 'u', 'f', 'c') ORDER BY 1, 2 LIMIT 1000`,
    [tx.schema],
  );
}

export async function findFunctions(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `SELECT DISTINCT proname::text AS name FROM pg_proc WHERE pronamespace = to_regnamespace($1) ORDER BY 1 LIMIT 1000`,
    [tx.schema],
  );
  return rows.map((row) => row.name);
}

/** Privileges that the current user lacks, as GRANT targets. */
export function missingPrivileges(tx: Queryable): Promise<{ missing: string; grantee: string }[]> {
  return tx.query(
    `SELECT missing, quote_ident(current_user) AS grantee FROM (
     SELECT format('USAGE ON SCHEMA %s', to_regnamespace($1)) AS missing WHERE NOT has_schema_privilege(to_regnamespace($1), 'USAGE')
     UNION ALL
     SELECT format('%s ON %s', string_agg(p.name, ', ' ORDER BY p.name), c.oid::regclass)
     FROM pg_class c CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (name)
     WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND NOT has_table_privilege(c.oid, p.name)
       AND (c.relname <> 'schema_migrations' OR p.name = 'SELECT')
     GROUP BY c.oid
     UNION ALL
     SELECT format('USAGE ON SEQUENCE %s', c.oid::regclass) FROM pg_class c
     WHERE c.relnamespace = to_regnamespace($1) AND CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
     UNION ALL
     SELECT format('EXECUTE ON FUNCTION %s', f.oid::regprocedure) FROM pg_proc f
     WHERE f.pronamespace = to_regnamespace($1) AND NOT has_function_privilege(f.oid, 'EXECUTE')
     ) lacking LIMIT 100`,
    [tx.schema],
  );
}
