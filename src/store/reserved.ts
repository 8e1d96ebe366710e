import type pg from 'pg';
import { listenOn, openListener } from './listener.ts';
import { openSingle, type SingleConnection, type SingleOptions } from './single.ts';
import type { WakeReason } from './wake.ts';

export interface ReservedConnection extends SingleConnection {
  /** Whether notifications arrive: otherwise only polling finds what there is to do. */
  isListening(): boolean;
}

export interface ReservedOptions extends Omit<SingleOptions, 'name' | 'onConnect'> {
  /** Something was said on the channel that wakes executors. */
  onWake: (reason: WakeReason) => void;
}

/**
 * A heartbeat never waits for a pool that is busy: it has a connection outside of it. It also listens, unless there is a connection
 * of its own for that (`database.notifyUrl`), or a transaction pooler, behind which polling has to do.
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
      listener?.keep();
      return single.query(text, values);
    },
    isListening: () => (listener ? listener.isListening() : listening !== undefined),
    close: async () => {
      await Promise.all([listener?.close(), single.close()]);
    },
  };
}
