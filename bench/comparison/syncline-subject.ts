/** Worker process of Syncline. `add` runs one scheduler tick; `run` starts the executor. */
import { createSyncline, defineConnector, type Syncline } from '../../dist/index.js';
import { providers, syncResult } from '../tools/fleet.ts';
import { createDueFleet, synclineSchema } from './subjects.ts';
import { serveWorker } from './workers.ts';

let engine: Syncline;
let onSync = () => {};

const connectors = providers.map((provider) =>
  defineConnector({
    provider,
    name: provider,
    sync: async ({ connection, job }) => {
      onSync();
      return syncResult({ connection, job });
    },
  }),
);

serveWorker({
  prepare: (url, _variant, jobs) => createDueFleet(url, jobs),
  open: async (url) => {
    engine = createSyncline({
      database: { url, schema: synclineSchema },
      // Jitter would schedule runs in the future. Peers have no jitter.
      scheduler: { jitterPctMin: 0, jitterPctMax: 0 },
      executor: { concurrency: 2000, claimBatch: 1000 },
      connectors,
      log: { level: 'error' },
    });
    await engine.ready();
  },
  add: async () => {
    await engine.tick();
  },
  run: async (report) => {
    onSync = () => report(1);
    await engine.start({ roles: ['executor'] });
  },
  close: () => engine.stop(),
});
