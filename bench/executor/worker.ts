/** One process of the executor benchmark: the engine as built, with connectors that find one signal and wait for nobody. */
import { createSyncline, defineConnector, type Syncline } from '../../dist/index.js';
import { providers } from '../tools/fleet.ts';
import { foundBy } from '../tools/found.ts';

export interface WorkerOptions {
  url: string;
  concurrency: number;
  claimBatch: number;
}

export interface Order {
  /** `drain`: run what is due. `start`: run whatever comes due, until `stop`. */
  action: 'drain' | 'start' | 'stop';
  schema: string;
}

export interface Answer {
  /** Jobs that succeeded; of a drain only. */
  succeeded: number;
  /** How long after they were due connectors were called since the last answer, in milliseconds. */
  lags: number[];
  /** Processor time of this process since the last answer. */
  cpuMs: number;
}

const { url, ...executor } = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
let lags: number[] = [];
let cpu = process.cpuUsage();

const connectors = providers.map((provider) =>
  defineConnector({
    provider,
    name: provider,
    sync: async ({ connection, job }) => {
      lags.push(Date.now() - job.scheduledAt.getTime());
      return foundBy({ connection, job });
    },
  }),
);

const create = (schema: string) =>
  createSyncline({ database: { url, schema }, executor, connectors, log: { level: 'error' } });

const draining = new Map<string, Syncline>();
let running: Syncline | undefined;

async function drain(schema: string): Promise<number> {
  const engine = draining.get(schema) ?? create(schema);
  draining.set(schema, engine);
  return (await engine.drain()).succeeded;
}

async function obey({ action, schema }: Order): Promise<number> {
  if (action === 'drain') return drain(schema);
  if (action === 'start') {
    running = create(schema);
    await running.start({ roles: ['executor'] });
  } else await running?.stop();
  return 0;
}

process.on('message', async (order: Order) => {
  const succeeded = await obey(order);
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({ succeeded, lags, cpuMs: (user + system) / 1000 } satisfies Answer);
  lags = [];
  cpu = process.cpuUsage();
});
process.once('disconnect', () => process.exit());
