import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { type ClockRow, clockColumn, type DatabaseClock, readClock } from './clock.ts';
import { retryConflicts } from './conflicts.ts';
import type { Queryable } from './database.ts';
import { createLookupState, lookupOf } from './lookup.ts';
import { tablesOf, tablesWithoutLookup } from './scope.ts';
import { beginText, isShared, openSession } from './session.ts';
import { types } from './types.ts';

export interface SingleConnection extends Queryable {
  /** DB-6: the database clock. */
  now(): Promise<Date>;
  close(): Promise<void>;
}

export interface SingleOptions {
  config: Config['database'];
  ports: Pick<Ports, 'query' | 'sleep' | 'random'>;
  clock: DatabaseClock;
  name: string;
  /** Per connect and statement; drops the socket. */
  timeoutMs: number;
  onConnect?: (client: pg.Client) => Promise<void>;
}

/** For statements that must not wait for a busy pool. Reconnects after socket errors and timeouts. */
export function openSingle({
  config,
  ports,
  clock,
  name,
  timeoutMs,
  onConnect,
}: SingleOptions): SingleConnection {
  const limits = { statement_timeout: timeoutMs, lock_timeout: timeoutMs };
  let current: Promise<pg.Client> | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function connected(): Promise<pg.Client> {
    if (isClosed)
      return Promise.reject(new SynclineError('DATABASE_UNREACHABLE', `The connection "${name}" is closed.`));
    current ??= open();
    return current;
  }

  function open(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: config.url,
      application_name: name,
      types,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
    });
    const drop = () => {
      if (current === opened) current = undefined;
      void client.end().catch(() => {});
    };
    client.on('error', drop);
    client.on('end', drop);
    const opened: Promise<pg.Client> = client
      .connect()
      .then(() => openSession(client, limits, timeoutMs))
      .then(() => onConnect?.(client))
      .then(() => client);
    opened.catch(drop);
    return opened;
  }

  /** A transaction has three statements. */
  function serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  }

  async function send<Row extends object>(text: string, values?: unknown[]): Promise<Row[]> {
    const opened = connected();
    const client = await opened;
    try {
      if (!isShared(client)) return (await client.query<Row>(text, values)).rows;
      return await serialize(async () => {
        await client.query(beginText(client, false, limits));
        // COMMIT of a failed transaction rolls back.
        const { rows } = await client.query<Row>(text, values).finally(() => client.query('COMMIT'));
        return rows;
      });
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) {
        if (current === opened) current = undefined;
        void client.end().catch(() => {});
      }
      throw error;
    }
  }

  const schema = pg.escapeIdentifier(config.schema);
  const tables = tablesOf(schema);
  const clockText = `SELECT ${clockColumn}`;
  return {
    schema,
    tables,
    lookup: lookupOf(createLookupState(), tables, tablesWithoutLookup(schema)),
    query: <Row extends object>(text: string, values?: unknown[]) =>
      retryConflicts(ports, () => ports.query(text, () => send<Row>(text, values))),
    now: () =>
      readClock(clock, (aroundSend) =>
        ports.query(clockText, () => aroundSend(() => send<ClockRow>(clockText))),
      ),
    close: async () => {
      isClosed = true;
      const last = current;
      current = undefined;
      await last?.then((client) => client.end()).catch(() => {});
    },
  };
}
