import type pg from 'pg';
import { listenOn, openListener } from './listener.ts';
import { openSingle, type SingleConnection, type SingleOptions } from './single.ts';
import type { WakeReason } from './wake.ts';

export interface ReservedConnection extends SingleConnection {
  /** Otherwise executors poll. */
  isListening(): boolean;
}

export interface ReservedOptions extends Omit<SingleOptions, 'name' | 'onConnect'> {
  onWake: (reason: WakeReason) => void;
}

/**
 * Outside the pool: the heartbeat never waits. Listens unless `database.notifyUrl` is set or a transaction
 * pooler prevents it.
 */
export function openReserved({ onWake, ...options }: ReservedOptions): ReservedConnection {
  const { config, timeoutMs } = options;
  const listener = config.notifyUrl === undefined ? undefined : openListener(config, { timeoutMs, onWake });
  let listening: pg.Client | undefined;
  const single = openSingle({
    ...options,
    name: 'syncline lease',
    onConnect: async (client) => {
      if (listener || !(await listenOn(client, config.schema, onWake))) return;
      listening = client;
      client.once('end', () => {
        if (listening === client) listening = undefined;
      });
    },
  });
  return {
    ...single,
    query: (text, values) => {
      listener?.ensure();
      return single.query(text, values);
    },
    isListening: () => (listener ? listener.isListening() : listening !== undefined),
    close: async () => {
      await Promise.all([listener?.close(), single.close()]);
    },
  };
}
