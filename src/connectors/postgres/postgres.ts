import { createHash } from 'node:crypto';
import type { z } from 'zod';
import {
  type Connector,
  CursorExpiredError,
  defineConnector,
  type Signal,
  type SyncContext,
  type SyncResult,
} from '../../connector-kit/index.ts';
import { maxResult } from '../../values/limits.ts';
import type { Lookup } from './address.ts';
import { configSchema, shownName, type TableConfig } from './config.ts';
import { errorOf } from './errors.ts';
import { inSession, type Query } from './session.ts';
import {
  countNullCursors,
  lookback,
  maxAnswerBytes,
  maxRowBytes,
  type PageRow,
  page,
  readSnapshot,
  type Statement,
} from './statements.ts';
import { describeTable, isTime, type Table } from './table.ts';
import { cursorSchema, finishWalk, startOf, type TableCursor, type WalkSnapshot } from './walk.ts';

export interface PostgresOptions<Provider extends string = string> {
  /** Default: `postgres`. */
  provider?: Provider | undefined;
  name?: string | undefined;
  /** `public` (default) rejects private networks and localhost. */
  network?: 'public' | 'any' | undefined;
  /** Default: 30 s. */
  statementTimeoutSeconds?: number | undefined;
  lookup?: Lookup | undefined;
}

const defaultLookback = { seconds: 300, rows: 1000 };
/** Without new rows, the run yields its slot. */
const maxStatements = 20;
const maxCountedNulls = 1000;

type TableContext = SyncContext<TableCursor, TableConfig>;
type Walk = NonNullable<TableCursor['walk']>;

/** Reads a table in the order of a growing column. */
export function postgres<const Provider extends string = 'postgres'>(
  options: PostgresOptions<Provider> = {},
): Connector<Provider, z.input<typeof configSchema>> {
  const { provider = 'postgres' as Provider, name = 'Postgres', network = 'public' } = options;
  const statementTimeoutMs = (options.statementTimeoutSeconds ?? 30) * 1000;
  return defineConnector({
    provider,
    name,
    configSchema,
    cursorSchema,
    sync: (context) =>
      inSession(
        context as SyncContext<unknown, TableConfig>,
        { network, statementTimeoutMs, lookup: options.lookup },
        (query) => sync(query, context as TableContext),
      ),
  });
}

async function sync(query: Query, context: TableContext): Promise<SyncResult<TableCursor>> {
  let table: Table | undefined;
  try {
    table = await describeTable(query, context.connection.config);
    const cursor = usableCursor(context.cursor, table);
    const walk = cursor.walk ?? (await beginWalk(query, context, table, cursor));
    return await readPages(query, context, table, cursor, walk);
  } catch (error) {
    context.abortSignal.throwIfAborted();
    throw errorOf(error, table?.index);
  }
}

const fingerprint = (table: Table) =>
  JSON.stringify([
    shownName(table),
    ...[table.cursor, ...table.keys].map(({ name, type }) => `${name} ${type}`),
  ]);

function usableCursor(cursor: TableCursor | undefined, table: Table): TableCursor {
  const currentTable = fingerprint(table);
  if (!cursor) return { of: currentTable, watermark: null, walks: [], xmin: null };
  if (cursor.of === currentTable) return cursor;
  throw new CursorExpiredError(
    `The stored position belongs to ${cursor.of}, but the table is now read as ${currentTable}.`,
  );
}

const runStatement = <Row extends object>(query: Query, { text, values }: Statement) =>
  query<Row>(text, values);

async function beginWalk(
  query: Query,
  { connection: { config }, log }: TableContext,
  table: Table,
  cursor: TableCursor,
): Promise<Walk> {
  if (!table.hasIndex)
    log.warn(`No index begins with "${table.cursor.name}": every page sorts the whole table. ${table.index}`);
  if (table.cursor.isNullable) {
    const [nulls] = await runStatement<{ count: number }>(query, countNullCursors(table, maxCountedNulls));
    const count = nulls?.count ?? 0;
    const counted = count === maxCountedNulls ? `${count} or more` : String(count);
    if (count > 0) log.warn(`${counted} rows are skipped: their "${table.cursor.name}" is NULL.`);
  }
  const [snapshot] = await runStatement<WalkSnapshot>(query, readSnapshot(table, isTime(table)));
  if (!snapshot) throw new Error('The server returned no transaction snapshot.');
  const { from, sinceXid } = startOf(cursor, snapshot, table.hasXmin);
  const begin = from === null ? null : await lookbackStart(query, table, from, config);
  return { ...snapshot, begin, at: null, sinceXid };
}

/** Shifts the query, not the watermark. */
async function lookbackStart(
  query: Query,
  table: Table,
  from: string,
  config: TableConfig,
): Promise<string | null> {
  const back = isTime(table)
    ? { seconds: config.lookbackSeconds ?? defaultLookback.seconds }
    : { rows: config.lookbackRows ?? defaultLookback.rows };
  const [row] = await runStatement<{ begin: string }>(query, lookback(table, from, back));
  return row?.begin ?? null;
}

async function readPages(
  query: Query,
  { connection: { config }, clock, log }: TableContext,
  table: Table,
  cursor: TableCursor,
  walk: Walk,
): Promise<SyncResult<TableCursor>> {
  const signals: Signal[] = [];
  let { at } = walk;
  let bytes = 0;
  for (let statements = 0; statements < maxStatements; statements++) {
    const request = {
      after: at,
      begin: walk.begin,
      known: cursor.watermark,
      sinceXid: walk.sinceXid,
      limit: config.pageSize,
    };
    const rows = await runStatement<PageRow>(query, page(table, isTime(table), request));
    for (const row of rows) if (row.is_fresh) signals.push(signalOf(row, table, config, clock.now()));
    bytes += rows.reduce((sum, row) => sum + (row.content?.length ?? 0), 0);
    at = rows.at(-1)?.position ?? at;
    const scanned = rows[0]?.scanned ?? 0;
    const isCut = rows.length < scanned;
    if (scanned < config.pageSize && !isCut) {
      log.debug(`${signals.length} rows; reached the end of ${shownName(table)}`);
      return { signals, nextCursor: finishWalk(cursor, { ...walk, at }) };
    }
    if (isCut || signals.length >= config.pageSize || bytes >= maxAnswerBytes) break;
  }
  return { signals, nextCursor: { ...cursor, walk: { ...walk, at } }, hasMore: true };
}

function signalOf(row: PageRow, table: Table, config: TableConfig, nowMs: number): Signal {
  const name = shownName(table);
  const [value, ...keys] = row.position;
  const hash =
    row.hash ??
    createHash('sha256')
      .update(row.content ?? '')
      .digest('hex');
  return {
    kind: config.kind ?? `${table.name}.changed`.slice(0, maxResult.kindLength),
    occurredAt: instantOf(row.instant, nowMs),
    payload: row.content === null ? oversizePayload(row, table) : JSON.parse(row.content),
    dedupeKey: `${JSON.stringify([name, ...keys, value])}:${hash}`,
  };
}

/** Postgres supports years that ISO-8601 does not. */
function instantOf(instant: number | null, nowMs: number): Date {
  const date = new Date(instant ?? Number.NaN);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date : new Date(nowMs);
}

function oversizePayload({ position, bytes }: PageRow, { keys }: Table): Record<string, unknown> {
  const named = Object.fromEntries(keys.map(({ name }, i) => [name, position[i + 1]]));
  return { ...named, $oversize: { bytes, limit: maxRowBytes } };
}
