import pg from 'pg';
import type { Config } from '../config/settings.ts';
import type { Ports } from '../ports.ts';
import type { Queryable } from './database.ts';
import { tablesOf } from './scope.ts';
import { types } from './types.ts';
import { type WakeReason, wakeChannel } from './wake.ts';

export interface ReservedConnection extends Queryable {
  close(): Promise<void>;
}

export interface ReservedOptions {
  config: Config['database'];
  ports: Pick<Ports, 'query'>;
  /** How long connecting or a statement may take; after that the socket counts as dead and is replaced. */
  timeoutMs: number;
  /** Something was said on the channel that wakes executors. */
  onWake: (reason: WakeReason) => void;
}

/**
 * One connection outside the pool, so that a heartbeat never waits for a pool that is busy. It also listens; behind a
 * transaction pooler nothing is ever heard, and polling has to do. A socket that breaks, or on which an answer does not
 * come in time, is dropped, and the next statement opens another.
 */
export function openReserved({ config, ports, timeoutMs, onWake }: ReservedOptions): ReservedConnection {
  let client: pg.Client | undefined;

  async function connected(): Promise<pg.Client> {
    if (client) return client;
    const fresh = new pg.Client({
      connectionString: config.url,
      application_name: 'syncline lease',
      types,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      keepAlive: true,
    });
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    fresh.on('notification', ({ payload }) => onWake(payload as WakeReason));
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${pg.escapeIdentifier(wakeChannel(config.schema))}`);
    } catch (error) {
      drop(fresh);
      throw error;
    }
    client = fresh;
    return fresh;
  }

  function drop(broken: pg.Client): void {
    if (client === broken) client = undefined;
    void broken.end().catch(() => {});
  }

  const schema = pg.escapeIdentifier(config.schema);
  return {
    schema,
    tables: tablesOf(schema),
    query: <Row extends object>(text: string, values?: unknown[]) =>
      ports.query(text, async () => {
        const current = await connected();
        try {
          return (await current.query<Row>(text, values)).rows;
        } catch (error) {
          if (!(error instanceof pg.DatabaseError)) drop(current);
          throw error;
        }
      }),
    close: async () => {
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}
