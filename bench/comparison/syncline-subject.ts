/** Worker process of Syncline. `add` runs one scheduler tick; `run` starts the executor. */
import type { Syncline } from '../../dist/index.js';
import { createSyncline, defineConnector } from '../tools/build-under-test.ts';
import { providers, syncResult } from '../tools/fleet.ts';
import { reportDone, serveCommands } from '../tools/serve-commands.ts';
import { createDueFleet, schemaName } from './subjects.ts';
import type { WorkerApi } from './workers.ts';

let engine: Syncline;

const connectors = providers.map((provider) =>
  defineConnector({
    provider,
    name: provider,
    sync: async (context) => {
      reportDone(1);
      return syncResult(context);
    },
  }),
);

serveCommands({
  prepare: (url, _variant, jobs) => createDueFleet(url, jobs),
  open: async (url) => {
    engine = createSyncline({
      database: { url, schema: schemaName },
      // Jitter would schedule runs in the future. Peers have no jitter.
      scheduler: { jitterPctMin: 0, jitterPctMax: 0 },
      executor: { concurrency: 2000, claimBatch: 1000 },
      connectors,
      log: { level: 'error' },
    });
    await engine.ready();
  },
  add: async () => void (await engine.tick()),
  run: () => engine.start({ roles: ['executor'] }),
  close: () => engine.stop(),
} satisfies WorkerApi);
