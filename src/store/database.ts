import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { arrayText } from './arrays.ts';
import { clockColumn, createDatabaseClock, type DatabaseClock, readClock } from './clock.ts';
import { retryLostRaces } from './lost-races.ts';
import { pinnedPlans } from './plans.ts';
import { type Tables, tablesOf } from './scope.ts';
import { beginText, isShared, openSession } from './session.ts';
import { types } from './types.ts';

/** Something that runs SQL. */
export interface Queryable {
  /** The quoted schema name, ready to stand in a statement: every row there is. What people ask for is read from `tables`. */
  readonly schema: string;
  readonly tables: Tables;
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** What a transaction runs SQL with. */
export interface Transaction extends Queryable {
  /** DB-6: the database's time when the transaction began. */
  readonly now: Date;
}

interface TransactionOptions {
  /** How long a statement waits for a lock. */
  lockTimeoutMs?: number;
  /** How long a statement may take in all, judged at both ends. */
  timeoutMs?: number;
  /** `off` where everything that the triggers on sync_jobs would do is done by the work itself; `enableTriggers` ends that. */
  triggers?: 'on' | 'off';
  /** False where a crash of the server may undo what it has acknowledged: nobody waits for the disk then. */
  durable?: boolean;
  /** Postgres itself refuses every write. */
  readOnly?: boolean;
}

export interface Database extends Queryable {
  /** The same database as one tenant may see it. A view for one tenant cannot become one for another. */
  scopedTo(tenantId: string | undefined): Database;
  /** For single statements that must not take longer than this. */
  within(timeoutMs: number): Queryable;
  /** Commits what `work` wrote, or nothing of it. `work` runs again where its transaction lost a race. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  readonly clock: DatabaseClock;
  /** DB-6: the database's time, for single statements; costs a statement only where no transaction has read it lately. */
  now(): Promise<Date>;
  close(): Promise<void>;
}

/** Runs a statement on one connection. */
type Run = <Row extends object>(
  text: string,
  values: unknown[] | undefined,
  timeoutMs: number,
  /** Wraps the sending, which `ports.query` may delay. */
  sending?: (send: () => Promise<Row[]>) => Promise<Row[]>,
) => Promise<Row[]>;

interface Connection {
  run: Run;
  client: pg.PoolClient;
}

interface OpenOptions {
  ports: Pick<Ports, 'query' | 'sleep' | 'random' | 'now' | 'monotonicMs' | 'databaseTime'>;
  onConnectionLost: (error: Error) => void;
  /** The process's clock is this far ahead of the database's; negative: behind. */
  onSkew: (skewMs: number) => void;
}

/** A statement of ours is bounded work; one that takes longer than this hangs on a lock or a dead socket. */
const queryTimeoutMs = 60_000;
const connectTimeoutMs = 10_000;

const usually: Required<TransactionOptions> = {
  lockTimeoutMs: 10_000,
  timeoutMs: queryTimeoutMs,
  triggers: 'on',
  durable: true,
  readOnly: false,
};

/** What sessions keep: they hold for single statements, and a transaction states only what differs. */
const sessionSettings = settingsOf(usually);

export function openDatabase(
  config: Config['database'],
  { ports, onConnectionLost, onSkew }: OpenOptions,
): Database {
  const schema = pg.escapeIdentifier(config.schema);
  const clock = createDatabaseClock(ports, onSkew);
  let pool = openPool(config, onConnectionLost);
  const onReplaced = new Set<() => void>();

  /**
   * An answer that did not come, or a socket that broke, says something about all of them: those that are idle are given
   * up together, rather than found dead one after the other, a timeout each.
   */
  function replacePool(suspect: pg.Pool): void {
    if (pool !== suspect || suspect.ending) return;
    pool = openPool(config, onConnectionLost);
    void suspect.end().catch(() => {});
    for (const goOn of onReplaced) goOn();
  }

  /** A pool that was given up serves nobody who still waits for it: they go over to the next one. */
  async function takeClient(): Promise<{ client: pg.PoolClient; from: pg.Pool }> {
    const first = pool;
    const taken = first.connect();
    let goOn = () => {};
    const replaced = new Promise<undefined>((resolve) => {
      goOn = () => resolve(undefined);
      onReplaced.add(goOn);
    });
    try {
      const client = await Promise.race([taken, replaced]);
      if (client) return { client, from: first };
    } finally {
      onReplaced.delete(goOn);
    }
    // It may come all the same, if it was being opened.
    taken.then(
      (client) => client.release(true),
      () => {},
    );
    const next = pool;
    return { client: await next.connect(), from: next };
  }

  /** One connection for as long as `work` takes; every statement goes through here. */
  async function withClient<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    // A pool that is merely busy fails here, and is none the worse for it.
    const { client, from } = await takeClient();
    let broken: Error | undefined;
    const run: Run = <Row extends object>(
      text: string,
      values: unknown[] | undefined,
      timeoutMs: number,
      sending = (send: () => Promise<Row[]>) => send(),
    ) => {
      if (broken) return Promise.reject(broken);
      const send = async () => rowsOf(await client.query<Row>(timed(text, values, timeoutMs)));
      return ports
        .query(text, () => sending(send))
        .catch((error: unknown) => {
          // Anything but Postgres's own word leaves the state of the connection unknown.
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
    const names = { schema, tables: tablesOf(schema, tenantId) };
    const single = <Row extends object>(text: string, values: unknown[] | undefined, timeoutMs: number) =>
      withClient((connection) =>
        isShared(connection.client)
          ? inTransaction({ names, clock, ...connection }, { ...usually, timeoutMs }, (tx) =>
              tx.query<Row>(text, values),
            )
          : connection.run<Row>(text, values, timeoutMs),
      );
    const within = (timeoutMs: number): Queryable => ({
      ...names,
      query: (text, values) => retryLostRaces(ports, () => single(text, values, timeoutMs)),
    });
    return {
      ...within(queryTimeoutMs),
      within,
      scopedTo: (narrower) => {
        if (tenantId !== undefined && narrower !== undefined && narrower !== tenantId)
          throw new SynclineError('FORBIDDEN', 'This key is for another tenant.');
        return open(tenantId ?? narrower);
      },
      clock,
      now: async () => {
        if (clock.isFresh()) return new Date(clock.nowMs());
        const text = `SELECT ${clockColumn}`;
        return withClient(({ run }) =>
          readClock(clock, (sending) => run(text, undefined, queryTimeoutMs, sending)),
        );
      },
      transaction: (work, options) =>
        retryLostRaces(ports, () =>
          withClient((connection) =>
            inTransaction({ names, clock, ...connection }, { ...usually, ...options }, work),
          ),
        ),
      close: () => pool.end(),
    };
  }

  return open(undefined);
}

function openPool(config: Config['database'], onConnectionLost: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: config.url,
    max: config.poolSize,
    application_name: 'syncline',
    types,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    onConnect: (client) => {
      // Without a listener the error would end the process; the statement under way rejects as well. Attached here, because a server
      // that shuts down may close the socket right after the login.
      client.on('error', () => {});
      return openSession(client, sessionSettings, connectTimeoutMs);
    },
  });
  // An idle connection that breaks is replaced by the pool at the next use; unheard, its error would end the process.
  pool.on('error', onConnectionLost);
  return pool;
}

/** The time limits hold on the server too: a process that is frozen or cut off must not keep its locks. */
function settingsOf({ lockTimeoutMs, timeoutMs, triggers, durable }: Required<TransactionOptions>) {
  return {
    ...pinnedPlans,
    // Otherwise whatever the server is set to: it may wait for replicas, too.
    ...(!durable && { synchronous_commit: 'off' }),
    'syncline.triggers': triggers,
    lock_timeout: lockTimeoutMs,
    statement_timeout: timeoutMs,
    idle_in_transaction_session_timeout: timeoutMs,
  };
}

const beginning = (client: pg.PoolClient, options: Required<TransactionOptions>) =>
  beginText(client, options.readOnly, settingsOf(options), [clockColumn]);

/** From here on the triggers do their part again, until the transaction ends. */
export async function enableTriggers(tx: Queryable): Promise<void> {
  await tx.query(`SELECT set_config('syncline.triggers', 'on', true)`);
}

interface Session extends Connection {
  names: Pick<Queryable, 'schema' | 'tables'>;
  clock: DatabaseClock;
}

async function inTransaction<T>(
  { names, clock, run, client }: Session,
  options: Required<TransactionOptions>,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const query = <Row extends object>(text: string, values?: unknown[]) =>
    run<Row>(text, values, options.timeoutMs);
  try {
    const now = await readClock(clock, (sending) =>
      run(beginning(client, options), undefined, options.timeoutMs, sending),
    );
    const result = await work({ ...names, query, now });
    await query('COMMIT');
    return result;
  } catch (error) {
    await query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Of several commands in one message, the driver returns a result for each. */
function rowsOf<Row extends object>(result: pg.QueryResult<Row> | pg.QueryResult<Row>[]): Row[] {
  return Array.isArray(result) ? (result.at(-1)?.rows ?? []) : result.rows;
}

/** A server that still answers says first that a statement took too long, and the connection can be kept. */
const serverLeadMs = 500;

/** `query_timeout` is what the client itself waits; the types of the package know it only for all queries of a client. */
function timed(text: string, values: unknown[] | undefined, timeoutMs: number): pg.QueryConfig {
  const query: pg.QueryConfig & { query_timeout: number } = {
    text,
    query_timeout: timeoutMs + serverLeadMs,
  };
  if (values) query.values = values.map((value) => (Array.isArray(value) ? arrayText(value) : value));
  return query;
}
