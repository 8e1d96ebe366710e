import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../errors.ts';

/** Something that runs SQL. `schema` is the quoted schema name, ready to stand in a statement. */
export interface Queryable {
  readonly schema: string;
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** Commits what `work` wrote, or nothing of it. No statement of it waits longer than this for a lock. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: { lockTimeoutMs?: number }): Promise<T>;
  close(): Promise<void>;
}

/** A statement of ours is bounded work; one that takes longer than this hangs on a lock or a dead socket. */
const queryTimeoutMs = 60_000;
const connectTimeoutMs = 10_000;

export function openDatabase(config: Config['database'], onConnectionLost: (error: Error) => void): Database {
  const schema = pg.escapeIdentifier(config.schema);
  const pool = new pg.Pool({
    connectionString: config.url,
    max: config.poolSize,
    application_name: 'syncline',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  });
  // An idle connection that breaks is replaced by the pool at the next use; unheard, its error would end the process.
  pool.on('error', onConnectionLost);

  return {
    schema,
    query: async <Row extends object>(text: string, values?: unknown[]) =>
      (await pool.query<Row>(text, values)).rows,
    transaction: (work, { lockTimeoutMs = 10_000 } = {}) =>
      inTransaction(pool, schema, `${begin}; SET LOCAL lock_timeout = ${lockTimeoutMs}`, work),
    close: () => pool.end(),
  };
}

/**
 * Every statement of the engine finds its rows through an index. A planner whose statistics are of before a large
 * catch-up thinks otherwise, and read all of a million connections to count none; so it is not asked.
 */
const plans = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off';
/**
 * Bounds that hold on the server too: a process that is frozen or cut off in the middle of a batch must not keep its
 * locks.
 */
const bounds = `SET LOCAL statement_timeout = ${queryTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${queryTimeoutMs}`;
const begin = `BEGIN; ${plans}; ${bounds}`;

async function inTransaction<T>(
  pool: pg.Pool,
  schema: string,
  beginning: string,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // A connection that breaks while checked out reports it here as well as to the statement that waits on it.
  const ignore = () => {};
  client.on('error', ignore);
  let broken: Error | undefined;
  try {
    await client.query(beginning);
    const result = await work({
      schema,
      query: async <Row extends object>(text: string, values?: unknown[]) =>
        (await client.query<Row>(text, values)).rows,
    });
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // After an error that is neither Postgres's own word nor ours, the state of the connection is unknown.
    const isKnown = error instanceof pg.DatabaseError || error instanceof SynclineError;
    if (isKnown) await client.query('ROLLBACK').catch((e: Error) => (broken = e));
    else broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(broken);
  }
}
