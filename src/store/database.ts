import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { arrayText } from './arrays.ts';
import { clockColumn, createDatabaseClock, type DatabaseClock, readClock } from './clock.ts';
import { retryConflicts } from './conflicts.ts';
import { createLookupState, type Lookup, lookupOf } from './lookup.ts';
import { pinnedPlans } from './plans.ts';
import { type Tables, tablesOf, tablesWithoutLookup } from './scope.ts';
import { beginText, isShared, openSession } from './session.ts';
import { sql } from './sql.ts';
import { types } from './types.ts';

export interface Queryable {
  /** Quoted and unscoped: callers' reads use `tables`. */
  readonly schema: string;
  readonly tables: Tables;
  /** For statements that read `listed_connections`. */
  readonly lookup: Lookup;
  /** `name`: of a prepared statement. */
  query<Row extends object>(text: string, values?: unknown[], name?: string): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /** DB-6: the database clock at BEGIN. */
  readonly now: Date;
}

interface TransactionOptions {
  lockTimeoutMs?: number;
  /** Enforced by server and client. */
  timeoutMs?: number;
  /** Server only: cancels a statement, keeps the session. Default: `timeoutMs`. */
  statementTimeoutMs?: number | undefined;
  /** `off`: the work does what the triggers do. */
  triggers?: 'on' | 'off';
  /** `generic`: statements without optional conditions; prepared ones are planned once per session. */
  plans?: 'auto' | 'generic';
  /** false: a server crash may lose the commit. */
  durable?: boolean;
  readOnly?: boolean;
}

export interface Database extends Queryable {
  /** Cannot switch to another tenant. */
  scopedTo(tenantId: string | undefined): Database;
  within(timeoutMs: number): Queryable;
  /** Retries `work` on a serialization failure or deadlock. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  readonly clock: DatabaseClock;
  /** DB-6: queries if the reading is stale. */
  now(): Promise<Date>;
  close(): Promise<void>;
}

interface Sent {
  text: string;
  values?: unknown[] | undefined;
  /** Of a prepared statement. */
  name?: string | undefined;
}

type Run = <Row extends object>(
  query: Sent,
  timeoutMs: number,
  /** Around the send, which `ports.query` may delay. */
  aroundSend?: (send: () => Promise<Row[]>) => Promise<Row[]>,
) => Promise<Row[]>;

interface Connection {
  run: Run;
  client: pg.PoolClient;
}

interface OpenOptions {
  ports: Pick<Ports, 'query' | 'sleep' | 'random' | 'now' | 'monotonicMs' | 'databaseTime'>;
  onConnectionLost: (error: Error) => void;
  onSkew: (skewMs: number) => void;
}

/** Longer: waits for a lock or a dead socket. */
const queryTimeoutMs = 60_000;
const connectTimeoutMs = 10_000;

type CompleteOptions = Required<TransactionOptions>;

const defaultOptions: CompleteOptions = {
  lockTimeoutMs: 10_000,
  timeoutMs: queryTimeoutMs,
  statementTimeoutMs: undefined,
  triggers: 'on',
  plans: 'auto',
  durable: true,
  readOnly: false,
};

const sessionSettings = settingsOf(defaultOptions);

export function openDatabase(
  config: Config['database'],
  { ports, onConnectionLost, onSkew }: OpenOptions,
): Database {
  const schema = pg.escapeIdentifier(config.schema);
  const clock = createDatabaseClock(ports, onSkew);
  const isFilled = createLookupState();
  let pool = openPool(config, { clock, onConnectionLost });
  const onReplaced = new Set<() => void>();

  /** Otherwise each idle connection would time out in turn. */
  function replacePool(suspect: pg.Pool): void {
    if (pool !== suspect || suspect.ending) return;
    pool = openPool(config, { clock, onConnectionLost });
    void suspect.end().catch(() => {});
    for (const notify of onReplaced) notify();
  }

  /** Waiters of a replaced pool switch over. */
  async function takeClient(): Promise<{ client: pg.PoolClient; from: pg.Pool }> {
    const first = pool;
    const connecting = first.connect();
    let notify = () => {};
    const replaced = new Promise<undefined>((resolve) => {
      notify = () => resolve(undefined);
      onReplaced.add(notify);
    });
    try {
      const client = await Promise.race([connecting, replaced]);
      if (client) return { client, from: first };
    } finally {
      onReplaced.delete(notify);
    }
    // The connect may still succeed.
    connecting.then(
      (client) => client.release(true),
      () => {},
    );
    const next = pool;
    return { client: await next.connect(), from: next };
  }

  async function withClient<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    // A connect timeout (busy pool) replaces nothing.
    const { client, from } = await takeClient();
    let broken: Error | undefined;
    const run: Run = <Row extends object>(
      sent: Sent,
      timeoutMs: number,
      aroundSend = (send: () => Promise<Row[]>) => send(),
    ) => {
      if (broken) return Promise.reject(broken);
      const query = queryConfig(sent, timeoutMs, isShared(client));
      const send = async () => rowsOf(await client.query<Row>(query));
      return ports
        .query(sent.text, () => aroundSend(send))
        .catch((error: unknown) => {
          // Not from Postgres: connection state unknown.
          if (!(error instanceof pg.DatabaseError)) {
            broken = error instanceof Error ? error : new Error(String(error));
            replacePool(from);
          }
          throw error;
        });
    };
    try {
      return await work({ run, client });
    } finally {
      client.release(broken);
    }
  }

  function open(tenantId: string | undefined): Database {
    const tables = tablesOf(schema, tenantId);
    const names = {
      schema,
      tables,
      lookup: lookupOf(isFilled, tables, tablesWithoutLookup(schema, tenantId)),
    };
    const single = <Row extends object>(sent: Sent, timeoutMs: number) =>
      withClient((connection) =>
        isShared(connection.client)
          ? inTransaction({ names, clock, ...connection }, { ...defaultOptions, timeoutMs }, (tx) =>
              tx.query<Row>(sent.text, sent.values),
            )
          : connection.run<Row>(sent, timeoutMs),
      );
    const within = (timeoutMs: number): Queryable => ({
      ...names,
      query: (text, values, name) => retryConflicts(ports, () => single({ text, values, name }, timeoutMs)),
    });
    return {
      ...within(queryTimeoutMs),
      within,
      scopedTo: (requestedId) => {
        if (tenantId !== undefined && requestedId !== undefined && requestedId !== tenantId)
          throw new SynclineError('FORBIDDEN', 'This key is for another tenant.');
        return open(tenantId ?? requestedId);
      },
      clock,
      now: async () => {
        if (clock.isFresh()) return new Date(clock.nowMs());
        const text = `SELECT ${clockColumn}`;
        return withClient(({ run }) =>
          readClock(clock, (aroundSend) => run({ text }, queryTimeoutMs, aroundSend)),
        );
      },
      transaction: (work, options) =>
        retryConflicts(ports, () =>
          withClient((connection) =>
            inTransaction({ names, clock, ...connection }, { ...defaultOptions, ...options }, work),
          ),
        ),
      close: () => pool.end(),
    };
  }

  return open(undefined);
}

function openPool(
  config: Config['database'],
  { clock, onConnectionLost }: { clock: DatabaseClock } & Pick<OpenOptions, 'onConnectionLost'>,
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: config.url,
    max: config.poolSize,
    application_name: 'syncline',
    types,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    onConnect: async (client) => {
      // A checked-out client's query rejects anyway. On connect: the server may close the socket right after
      // authentication.
      client.on('error', () => {});
      // DB-6: so that every query, also the first, has a reading before it.
      await clock.reading(() => openSession(client, sessionSettings, connectTimeoutMs));
    },
  });
  // Unhandled, it ends the process. pool.end() resolves before its sockets close, so one may still fail.
  pool.on('error', (error) => {
    if (!pool.ending) onConnectionLost(error);
  });
  return pool;
}

/** On the server too: a frozen or partitioned process must not keep locks. */
function settingsOf(options: CompleteOptions) {
  const { lockTimeoutMs, timeoutMs, statementTimeoutMs, triggers, plans, durable } = options;
  return {
    ...pinnedPlans,
    plan_cache_mode: plans === 'generic' ? 'force_generic_plan' : 'auto',
    // Otherwise the server's, possibly with replicas.
    ...(!durable && { synchronous_commit: 'off' }),
    'syncline.triggers': triggers,
    'syncline.due_at': triggers === 'off' ? 'written' : 'derived',
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs ?? timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
  };
}

const beginStatement = (client: pg.PoolClient, options: CompleteOptions) =>
  beginText(client, options.readOnly, settingsOf(options), [clockColumn]);

const enableTriggersSql = sql<object>`SELECT set_config('syncline.triggers', 'on', true)`;

export async function enableTriggers(tx: Queryable): Promise<void> {
  await enableTriggersSql.all(tx);
}

interface Session extends Connection {
  names: Pick<Queryable, 'schema' | 'tables' | 'lookup'>;
  clock: DatabaseClock;
}

async function inTransaction<T>(
  { names, clock, run, client }: Session,
  options: CompleteOptions,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const query = <Row extends object>(text: string, values?: unknown[], name?: string) =>
    run<Row>({ text, values, name }, options.timeoutMs);
  try {
    const now = await readClock(clock, (aroundSend) =>
      run({ text: beginStatement(client, options) }, options.timeoutMs, aroundSend),
    );
    const result = await work({ ...names, query, now });
    await query('COMMIT');
    return result;
  } catch (error) {
    await query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** A multi-statement query returns an array. */
function rowsOf<Row extends object>(result: pg.QueryResult<Row> | pg.QueryResult<Row>[]): Row[] {
  return Array.isArray(result) ? (result.at(-1)?.rows ?? []) : result.rows;
}

/** The server times out first, so the connection stays usable. */
const serverLeadMs = 500;

/** @types/pg declares `query_timeout` only per client. */
function queryConfig({ text, values, name }: Sent, timeoutMs: number, isShared: boolean): pg.QueryConfig {
  const query: pg.QueryConfig & { query_timeout: number } = {
    text,
    query_timeout: timeoutMs + serverLeadMs,
  };
  if (values) query.values = values.map((value) => (Array.isArray(value) ? arrayText(value) : value));
  // Another session of a pooler has no such statement.
  if (name !== undefined && !isShared) query.name = name;
  return query;
}
