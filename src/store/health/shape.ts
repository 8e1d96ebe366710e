import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';

export interface PartRow {
  table_name: string;
  name: string;
  /** Invalid index, disabled trigger or unvalidated constraint. */
  broken: boolean;
  /** Without schema name: comparable and executable anywhere. */
  definition: string;
}

const findIndexesSql = sql<PartRow>`
  SELECT t.relname AS table_name, c.relname AS name, NOT (i.indisvalid AND i.indisready) AS broken,
    replace(pg_get_indexdef(i.indexrelid), to_regnamespace(:schemaName)::text || '.', '') AS definition
  FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
  WHERE t.relnamespace = to_regnamespace(:schemaName)
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
  ORDER BY 1, 2 LIMIT 1000`;

export function findIndexes(tx: Queryable): Promise<PartRow[]> {
  return findIndexesSql.all(tx, { schemaName: tx.schema });
}

const findTriggersSql = sql<PartRow>`
  SELECT t.relname AS table_name, g.tgname AS name, g.tgenabled IN ('D', 'R') AS broken,
    replace(pg_get_triggerdef(g.oid), to_regnamespace(:schemaName)::text || '.', '') AS definition
  FROM pg_class t JOIN pg_trigger g ON g.tgrelid = t.oid
  WHERE t.relnamespace = to_regnamespace(:schemaName) AND NOT g.tgisinternal ORDER BY 1, 2 LIMIT 1000`;

export function findTriggers(tx: Queryable): Promise<PartRow[]> {
  return findTriggersSql.all(tx, { schemaName: tx.schema });
}

const findConstraintsSql = sql<PartRow>`
  SELECT t.relname AS table_name, k.conname AS name, NOT k.convalidated AS broken,
    replace(pg_get_constraintdef(k.oid), to_regnamespace(:schemaName)::text || '.', '') AS definition
  FROM pg_class t JOIN pg_constraint k ON k.conrelid = t.oid
  WHERE t.relnamespace = to_regnamespace(:schemaName) AND k.contype IN ('p', 'u', 'f', 'c')
  ORDER BY 1, 2 LIMIT 1000`;

/** Without NOT NULL, a constraint since Postgres 18. */
export function findConstraints(tx: Queryable): Promise<PartRow[]> {
  return findConstraintsSql.all(tx, { schemaName: tx.schema });
}

const findFunctionsSql = sql<{ name: string }>`
  SELECT DISTINCT proname::text AS name FROM pg_proc WHERE pronamespace = to_regnamespace(:schemaName)
  ORDER BY 1 LIMIT 1000`;

export async function findFunctions(tx: Queryable): Promise<string[]> {
  const rows = await findFunctionsSql.all(tx, { schemaName: tx.schema });
  return rows.map((row) => row.name);
}

const missingPrivilegesSql = sql<{ missing: string; grantee: string }>`
  SELECT missing, quote_ident(current_user) AS grantee FROM (
    SELECT format('USAGE ON SCHEMA %s', to_regnamespace(:schemaName)) AS missing
    WHERE NOT has_schema_privilege(to_regnamespace(:schemaName), 'USAGE')
    UNION ALL
    SELECT format('%s ON %s', string_agg(p.name, ', ' ORDER BY p.name), c.oid::regclass)
    FROM pg_class c CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (name)
    WHERE c.relnamespace = to_regnamespace(:schemaName) AND c.relkind = 'r'
      AND NOT has_table_privilege(c.oid, p.name)
      AND (c.relname <> 'schema_migrations' OR p.name = 'SELECT')
    GROUP BY c.oid
    UNION ALL
    SELECT format('USAGE ON SEQUENCE %s', c.oid::regclass) FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(:schemaName)
      AND CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
    UNION ALL
    SELECT format('EXECUTE ON FUNCTION %s', f.oid::regprocedure) FROM pg_proc f
    WHERE f.pronamespace = to_regnamespace(:schemaName) AND NOT has_function_privilege(f.oid, 'EXECUTE')
  ) lacking LIMIT 100`;

/** As GRANT targets. */
export function missingPrivileges(tx: Queryable): Promise<{ missing: string; grantee: string }[]> {
  return missingPrivilegesSql.all(tx, { schemaName: tx.schema });
}
