import pg from 'pg';
import type { Config } from '../config/settings.ts';
import { isShared, openSession } from './session.ts';
import { type WakeReason, wakeChannel } from './wake.ts';

type OnWake = (reason: WakeReason) => void;

/** On a shared session, LISTEN leaks and delivers nothing. */
export async function listenOn(client: pg.Client, schema: string, onWake: OnWake): Promise<boolean> {
  if (isShared(client)) return false;
  client.on('notification', ({ payload }) => onWake(payload as WakeReason));
  await client.query(`LISTEN ${pg.escapeIdentifier(wakeChannel(schema))}`);
  return true;
}

export interface Listener {
  isListening(): boolean;
  /** Connects, or pings the connection. */
  ensure(): void;
  close(): Promise<void>;
}

/** A dedicated LISTEN connection (`database.notifyUrl`). */
export function openListener(
  config: Config['database'],
  { timeoutMs, onWake }: { timeoutMs: number; onWake: OnWake },
): Listener {
  let client: pg.Client | undefined;
  let isBusy = false;
  let isClosed = false;

  async function open(): Promise<void> {
    const fresh = await connectForNotifications(config, timeoutMs);
    fresh.on('end', () => drop(fresh));
    if (isClosed || !(await listenOn(fresh, config.schema, onWake))) return drop(fresh);
    client = fresh;
    // Earlier notifications are lost.
    onWake('jobs');
    onWake('runs');
  }

  function drop(broken: pg.Client): void {
    if (client === broken) client = undefined;
    void broken.end().catch(() => {});
  }

  async function check(): Promise<void> {
    const current = client;
    if (!current) return open();
    await current.query('SELECT').catch(() => drop(current));
  }

  return {
    isListening: () => client !== undefined,
    ensure: () => {
      if (isBusy || isClosed) return;
      isBusy = true;
      void check()
        .catch(() => {})
        .finally(() => {
          isBusy = false;
        });
    },
    close: async () => {
      isClosed = true;
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}

async function connectForNotifications(config: Config['database'], timeoutMs: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: config.notifyUrl ?? config.url,
    application_name: 'syncline listen',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await openSession(client, { statement_timeout: timeoutMs, lock_timeout: timeoutMs }, timeoutMs);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}

export async function canListen(config: Config['database'], timeoutMs: number): Promise<boolean> {
  const client = await connectForNotifications(config, timeoutMs);
  const isDirect = !isShared(client);
  await client.end().catch(() => {});
  return isDirect;
}
