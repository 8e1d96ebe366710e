import { PermanentError } from '../../connector-kit/index.ts';
import { nearest } from '../../values/suggest.ts';
import { shownName, type TableConfig, type TableName, tableNameOf } from './config.ts';
import type { Query } from './session.ts';
import { quoted } from './statements.ts';

export interface Column {
  name: string;
  type: string;
  /** For arrays, of the element. */
  base: string;
  isArray: boolean;
  isNullable: boolean;
}

export interface Table extends TableName {
  cursor: Column;
  keys: Column[];
  columns: Column[];
  /** Not for views, foreign and partitioned tables. */
  hasXmin: boolean;
  index: string;
  hasIndex: boolean;
}

const timeTypes = ['timestamptz', 'timestamp', 'date'];
const cursorTypes = [...timeTypes, 'int2', 'int4', 'int8', 'numeric', 'uuid', 'text', 'varchar', 'bpchar'];

export const isTime = ({ cursor }: Table) => timeTypes.includes(cursor.base);

interface ColumnRow {
  relkind: string;
  name: string;
  type: string;
  base: string;
  is_array: boolean;
  not_null: boolean;
}

/** Rejects configurations that would lose rows. */
export async function describeTable(query: Query, config: TableConfig): Promise<Table> {
  const name = tableNameOf(config.table);
  const rows = await query<ColumnRow>(
    `SELECT c.relkind::text, a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type,
       coalesce(e.typname, b.typname, y.typname)::text AS base, e.oid IS NOT NULL AS is_array,
       a.attnotnull AS not_null
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
       JOIN pg_type y ON y.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = y.typbasetype
       LEFT JOIN pg_type e ON e.oid = y.typelem AND y.typcategory = 'A'
     WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [name.schema, name.name],
  );
  if (rows.length === 0) throw new PermanentError(await missingTable(query, name));
  const all = rows.map(
    (row): Column => ({
      name: row.name,
      type: row.type,
      base: row.base,
      isArray: row.is_array,
      isNullable: !row.not_null,
    }),
  );
  const column = (columnName: string, field: string) => {
    const found = all.find((entry) => entry.name === columnName);
    if (found) return found;
    const names = all.map((entry) => entry.name);
    throw new PermanentError(
      `config.${field}: ${shownName(name)} has no column "${columnName}". ${suggestNames(columnName, names)}`,
    );
  };
  const relkind = rows[0]?.relkind as string;
  const cursor = column(config.cursorColumn, 'cursorColumn');
  const keys = config.keyColumns.map((key) => column(key, 'keyColumns')).filter((key) => key !== cursor);
  const order = [cursor, ...keys].map((entry) => quoted(entry.name)).join(', ');
  const table: Table = {
    ...name,
    cursor,
    keys,
    columns: config.columns ? config.columns.map((entry) => column(entry, 'columns')) : all,
    hasXmin: relkind === 'r',
    index: `CREATE INDEX CONCURRENTLY ON ${quoted(name.schema)}.${quoted(name.name)} (${order})`,
    hasIndex: true,
  };
  checkCursorType(table, config);
  return relkind === 'r' || relkind === 'p' ? checkIndexes(query, table) : table;
}

function checkCursorType(table: Table, config: TableConfig): void {
  const { cursor } = table;
  if (cursor.isArray || !cursorTypes.includes(cursor.base))
    throw new PermanentError(
      `config.cursorColumn: "${cursor.name}" has type ${cursor.type}. It must be a time, an integer, ` +
        'a numeric, a uuid or text.',
    );
  const [wrong, right] = isTime(table)
    ? (['lookbackRows', 'lookbackSeconds'] as const)
    : (['lookbackSeconds', 'lookbackRows'] as const);
  if (config[wrong] !== undefined)
    throw new PermanentError(
      `config.${wrong} cannot be used with a cursor column of type ${cursor.type}: use ${right} instead.`,
    );
}

interface IndexRow {
  columns: string[];
  is_unique: boolean;
  is_primary: boolean;
}

/** A page boundary loses rows with equal cursor and key. */
async function checkIndexes(query: Query, table: Table): Promise<Table> {
  const indexes = await query<IndexRow>(
    `SELECT i.indisunique AND i.indpred IS NULL AS is_unique, i.indisprimary AS is_primary,
       ARRAY(SELECT coalesce(a.attname::text, '') FROM generate_series(0, i.indnkeyatts - 1) AS k
             LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
             ORDER BY k) AS columns
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
     WHERE i.indrelid = ($1::text)::regclass AND i.indisvalid AND m.amname = 'btree'`,
    [`${quoted(table.schema)}.${quoted(table.name)}`],
  );
  const order = [table.cursor, ...table.keys].map(({ name }) => name);
  const nullable = table.keys.find(({ isNullable }) => isNullable);
  if (nullable)
    throw new PermanentError(
      `config.keyColumns: "${nullable.name}" may be NULL, so it cannot identify rows. ${primaryKey(indexes)}`,
    );
  if (!indexes.some(({ is_unique, columns }) => is_unique && columns.every((entry) => order.includes(entry))))
    throw new PermanentError(
      `config.keyColumns: no unique index covers ${order.map((entry) => `"${entry}"`).join(', ')} in ` +
        `${shownName(table)}. ${primaryKey(indexes)}`,
    );
  return { ...table, hasIndex: indexes.some(({ columns }) => columns[0] === order[0]) };
}

function primaryKey(indexes: IndexRow[]): string {
  const primary = indexes.find(({ is_primary }) => is_primary);
  return primary ? `The primary key is (${primary.columns.join(', ')}).` : 'The table has no primary key.';
}

async function missingTable(query: Query, name: TableName): Promise<string> {
  const tables = await query<{ name: string }>(
    `SELECT n.nspname || '.' || c.relname AS name
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
     ORDER BY n.nspname = $1 DESC, 1 LIMIT 1000`,
    [name.schema],
  );
  const shown = shownName(name);
  return `config.table: there is no table "${shown}" that this user may read. ${suggestNames(
    shown,
    tables.map((entry) => entry.name),
  )}`;
}

const maxListed = 30;

function suggestNames(target: string, names: string[]): string {
  const suggested = nearest(target, names);
  const rest = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  const all =
    names.length === 0 ? 'There are none.' : `There are: ${names.slice(0, maxListed).join(', ')}${rest}.`;
  return suggested ? `Did you mean "${suggested}"? ${all}` : all;
}
