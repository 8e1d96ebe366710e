import { createSyncline, defineConnector, type Syncline } from '../../dist/index.js';
import { providers } from '../tools/fleet.ts';

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
        const now = new Date();
        onSync();
        return {
          signals: [
            {
              kind: 'issue.opened',
              occurredAt: now,
              payload: { number: 1234, title: 'A small payload', account: connection.externalId },
              dedupeKey: job.id,
            },
          ],
          nextCursor: { page: job.id, since: now.toISOString() },
        };
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
