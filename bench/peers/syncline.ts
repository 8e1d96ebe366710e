import { createSyncline, defineConnector, type Syncline } from '../../dist/index.js';
import { providers } from '../tools/fleet.ts';
import { foundBy } from '../tools/found.ts';

/** Jitter would place runs in the future; peers have none. */
const synclineSettings = {
  scheduler: { jitterPctMin: 0, jitterPctMax: 0 },
  executor: { concurrency: 2000, claimBatch: 1000 },
};

/** Its connectors find one signal and wait for nobody. */
export function openSyncline(url: string, schema: string, onSync: () => void): Syncline {
  const connectors = providers.map((provider) =>
    defineConnector({
      provider,
      name: provider,
      sync: async ({ connection, job }) => {
        onSync();
        return foundBy({ connection, job });
      },
    }),
  );
  return createSyncline({
    database: { url, schema },
    ...synclineSettings,
    connectors,
    log: { level: 'error' },
  });
}
