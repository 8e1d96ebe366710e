import pg from 'pg';
import { maxResult } from '../../values/limits.ts';
import type { Column, Table } from './table.ts';

export const quoted = (name: string) => pg.escapeIdentifier(name);

/** Larger rows are not transferred. */
export const maxRowBytes = maxResult.payloadBytes;
/** Per response: a quarter of an engine page. */
export const maxAnswerBytes = 8 * 1024 * 1024;

/** Text keeps microseconds. */
type Position = string[];

const nameOf = (table: Table) => `${quoted(table.schema)}.${quoted(table.name)} AS t`;
const columnOf = ({ name }: Column) => `t.${quoted(name)}`;
const orderOf = ({ cursor, keys }: Table) => [cursor, ...keys].map(columnOf).join(', ');

function createParameters(): { values: unknown[]; add(value: unknown, type: string): string } {
  const values: unknown[] = [];
  return { values, add: (value, type) => `$${values.push(value)}::${type}` };
}

export interface Statement {
  text: string;
  values: unknown[];
}

/** xmax does not bound running writers; the next xid is xmax plus its `age`. Ignores future times. */
export function readSnapshot(table: Table, isTime: boolean): Statement {
  const column = columnOf(table.cursor);
  const highest = isTime ? `least(${column}, now()::${table.cursor.type})` : column;
  return {
    text: `SELECT xmin::text, (xmax + age((xmax % 4294967296)::text::xid))::text AS next,
        (SELECT ${highest}::text FROM ${nameOf(table)} WHERE ${column} IS NOT NULL
         ORDER BY ${column} DESC LIMIT 1) AS highest
      FROM (SELECT pg_snapshot_xmin(s)::text::bigint AS xmin, pg_snapshot_xmax(s)::text::bigint AS xmax
            FROM pg_current_snapshot() AS s) AS now`,
    values: [],
  };
}

export function lookback(
  table: Table,
  from: string,
  back: { seconds: number } | { rows: number },
): Statement {
  const { values, add } = createParameters();
  const { type } = table.cursor;
  const column = columnOf(table.cursor);
  if ('seconds' in back) {
    const earlier = `${add(from, type)} - make_interval(secs => ${add(back.seconds, 'float8')})`;
    return { text: `SELECT (${earlier})::${type}::text AS begin`, values };
  }
  return {
    text: `SELECT ${column}::text AS begin FROM ${nameOf(table)} WHERE ${column} <= ${add(from, type)}
      ORDER BY ${column} DESC OFFSET ${add(back.rows, 'bigint')} LIMIT 1`,
    values,
  };
}

export interface PageRequest {
  /** Continue after this row; null: from `begin` or the first row. */
  after: Position | null;
  begin: string | null;
  /** Rows up to here are new only if … */
  known: Position | null;
  /** … this transaction or a later one wrote them; null: xmin is unusable. */
  sinceXid: string | null;
  limit: number;
}

export interface PageRow {
  position: Position;
  instant: number | null;
  is_fresh: boolean;
  /** Null for known and oversize rows. */
  content: string | null;
  bytes: number | null;
  hash: string | null;
  /** More than returned if the response was cut. */
  scanned: number;
}

export function page(table: Table, isTime: boolean, request: PageRequest): Statement {
  const { values, add } = createParameters();
  const places = [table.cursor, ...table.keys];
  const behind = (position: Position) =>
    `(${orderOf(table)}) > (${places.map(({ type }, i) => add(position[i], type)).join(', ')})`;

  const conditions = places.map((column) => `${columnOf(column)} IS NOT NULL`);
  if (request.after) conditions.push(behind(request.after));
  else if (request.begin !== null)
    conditions.push(`${columnOf(table.cursor)} >= ${add(request.begin, table.cursor.type)}`);

  const isFresh =
    request.known && request.sinceXid !== null
      ? `(${behind(request.known)} OR age(t.xmin) <= age(${add(request.sinceXid, 'text')}::xid))`
      : 'true';
  const instant = isTime ? `extract(epoch FROM ${columnOf(table.cursor)})::float8 * 1000` : 'NULL::float8';
  const fields = table.columns.map((column) => `${jsonOf(column)} AS ${quoted(column.name)}`).join(', ');
  return {
    text: `WITH found AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY ${orderOf(table)}) AS n,
          ARRAY[${places.map((column) => `${columnOf(column)}::text`).join(', ')}] AS position,
          ${instant} AS instant, ${isFresh} AS is_fresh,
          CASE WHEN ${isFresh} THEN (SELECT to_jsonb(r.*)::text FROM (SELECT ${fields}) AS r) END AS content
        FROM ${nameOf(table)} WHERE ${conditions.join(' AND ')}
        ORDER BY ${orderOf(table)} LIMIT ${add(request.limit, 'bigint')}
      ), sized AS (
        SELECT *, octet_length(content) AS bytes, (SELECT count(*) FROM found)::int AS scanned FROM found
      ), summed AS (
        SELECT *, sum(octet_length(position::text) + CASE WHEN bytes <= ${maxRowBytes} THEN bytes ELSE 0 END)
          OVER (ORDER BY n) AS total
        FROM sized
      )
      SELECT position, instant, is_fresh, bytes, scanned,
        CASE WHEN bytes <= ${maxRowBytes} THEN content END AS content,
        CASE WHEN bytes > ${maxRowBytes} THEN md5(content) END AS hash
      FROM summed WHERE n = 1 OR total <= ${maxAnswerBytes} ORDER BY n`,
    values,
  };
}

const asJson = [
  'bool',
  'int2',
  'int4',
  'float4',
  'float8',
  'json',
  'jsonb',
  'date',
  'timestamp',
  'timestamptz',
];

/** As text where JSON is not exact. */
function jsonOf(column: Column): string {
  if (asJson.includes(column.base)) return columnOf(column);
  return column.isArray ? `${columnOf(column)}::text[]` : `${columnOf(column)}::text`;
}

export function countNullCursors({ cursor, ...table }: Table, limit: number): Statement {
  return {
    text: `SELECT count(*)::int AS count FROM (
        SELECT FROM ${nameOf({ cursor, ...table })} WHERE ${columnOf(cursor)} IS NULL LIMIT ${limit}
      ) AS unplaced`,
    values: [],
  };
}
