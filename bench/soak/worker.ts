/**
 * A process of the fleet: the engine as built, with connectors for a provider that has one more item each time it is asked.
 * So whatever was stored, lost or doubled can be told from the numbers of the items.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createSyncline,
  defineConnector,
  type SyncContext,
  type Syncline,
  type SynclineOptions,
  type SyncResult,
  systemPorts,
  TransientError,
} from '../../dist/index.js';
import { obeyParent } from '../tools/child.ts';
import { providers } from '../tools/fleet.ts';
import { createLogCounter, type LogCounts } from './log-counter.ts';

export interface StartOrder {
  action: 'start';
  options: Pick<SynclineOptions, 'database' | 'executor'>;
  retentionMinutes: number;
}

/** `report`: since the last report. `stop`: the same, after everything has ended. */
export type Order = StartOrder | { action: 'report' | 'stop' };

export interface ProcessReport {
  pid: number;
  rssMb: number;
  /** What is in use after garbage was collected. */
  heapMb: number;
  /** How long the process kept others from their turn. */
  eventLoopMs: { p99: number; most: number };
  /** Processor time per second. */
  cores: number;
  /** Calls of connectors, and those of them that failed as planned. */
  calls: number;
  failures: number;
  log: LogCounts;
}

/** What a quick provider takes to answer. */
const providerMs = 50;
/** Providers have bad moments, and sometimes more than a page. */
const [failing, withMore] = [0.005, 0.005];
const planned = 'The provider has a bad moment.';
const dayMs = 24 * 3600 * 1000;
const loopResolutionMs = 10;

const engines: Syncline[] = [];
const { logger, take: takeLog } = createLogCounter((message) => message.includes(planned));
const loop = monitorEventLoopDelay({ resolution: loopResolutionMs });
let [calls, failures] = [0, 0];
let cpu = process.cpuUsage();
let sinceMs = performance.now();

async function sync({ connection, cursor }: SyncContext<unknown>): Promise<SyncResult> {
  calls++;
  await delay(providerMs);
  if (Math.random() < failing) {
    failures++;
    throw new TransientError(planned);
  }
  const n = (Number((cursor as { n?: number } | undefined)?.n) || 0) + 1;
  const payload = { n, title: 'A small payload', account: connection.externalId };
  // Half of them without a key: there nothing would absorb what is stored twice.
  const isKeyed = connection.id.charCodeAt(0) % 2 === 0;
  return {
    signals: [
      { kind: 'item.added', occurredAt: new Date(), payload, ...(isKeyed && { dedupeKey: `item-${n}` }) },
    ],
    nextCursor: { n },
    hasMore: Math.random() < withMore,
  };
}

async function start({ options, retentionMinutes }: StartOrder): Promise<void> {
  const connectors = providers.map((provider) => defineConnector({ provider, name: provider, sync }));
  const retention = { endedJobsDays: 1, signalsDays: 1 };
  const engine = createSyncline({ ...options, connectors, logger });
  // Nothing can be kept for less than a day; by a clock that is ahead it is.
  const aheadMs = dayMs - retentionMinutes * 60_000;
  const ports = { ...systemPorts, databaseTime: () => new Date(Date.now() + aheadMs) };
  const janitor = createSyncline({ ...options, retention, ports, logger });
  engines.push(engine, janitor);
  await engine.start({ roles: ['scheduler', 'executor'] });
  await janitor.start({ roles: ['janitor'] });
  loop.enable();
}

function report(): ProcessReport {
  const eventLoopMs = { p99: loopMs(loop.percentile(99)), most: loopMs(loop.max) };
  const { user, system } = process.cpuUsage(cpu);
  const cores = (user + system) / 1000 / (performance.now() - sinceMs);
  const done = { calls, failures };
  [calls, failures] = [0, 0];
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  global.gc?.();
  const heapMb = process.memoryUsage().heapUsed / 2 ** 20;
  cpu = process.cpuUsage();
  sinceMs = performance.now();
  // Afterwards, so that the pause for the garbage is in no report.
  setImmediate(() => loop.reset());
  return { pid: process.pid, rssMb, heapMb, eventLoopMs, cores, ...done, log: takeLog() };
}

/** Its timer counts from when it was set, so what it should have taken is not late. */
const loopMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - loopResolutionMs);

obeyParent(async (order: Order): Promise<ProcessReport> => {
  if (order.action === 'start') await start(order);
  if (order.action === 'stop') await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  return report();
});
