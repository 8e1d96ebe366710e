/** A process of the engine as built, with connectors that find one signal and wait for nobody. */
import {
  createSyncline,
  defineConnector,
  type Role,
  type Syncline,
  type SynclineOptions,
  systemPorts,
} from '../../dist/index.js';
import { obeyParent } from '../tools/child.ts';
import { nowMs } from '../tools/clock.ts';
import { providers } from '../tools/fleet.ts';
import { foundBy } from '../tools/found.ts';

export interface StartOrder {
  action: 'start';
  roles: Role[];
  options: Omit<SynclineOptions, 'connectors' | 'ports' | 'logger' | 'telemetry'>;
  /** Syncs of this tenant are told one by one. */
  watchedTenant?: string;
  /** Tells of every sync how late it began. */
  tellsLags?: boolean;
  /**
   * Also runs a janitor, whose clock is so far ahead: what is kept for a day by the shortest setting is then kept for a day
   * less that.
   */
  janitorAheadMs?: number;
}

/** `report`: what was done since the last answer. `stop`: the same, at the end. */
export type EngineOrder = StartOrder | { action: 'report' | 'stop' };

export interface EngineReport {
  syncs: number;
  /** How long after they were due connectors were called. */
  lagsMs: number[];
  /** When the connector was called, by job, for syncs of the watched tenant. */
  startedAt: Map<string, number>;
  /** Processor time of this process. */
  cpuMs: number;
}

const engines: Syncline[] = [];
let watched: string | undefined;
let tellsLags = false;
let report = emptyReport();
let cpu = process.cpuUsage();

function emptyReport(): EngineReport {
  return { syncs: 0, lagsMs: [], startedAt: new Map(), cpuMs: 0 };
}

const connectors = providers.map((provider) =>
  defineConnector({
    provider,
    name: provider,
    sync: async ({ connection, job }) => {
      const calledAt = nowMs();
      report.syncs++;
      if (tellsLags) report.lagsMs.push(calledAt - job.scheduledAt.getTime());
      if (connection.tenantId === watched) report.startedAt.set(job.id, calledAt);
      return foundBy({ connection, job });
    },
  }),
);

async function start(order: StartOrder): Promise<void> {
  const { roles, options, janitorAheadMs } = order;
  watched = order.watchedTenant;
  tellsLags = order.tellsLags ?? false;
  const engine = createSyncline({ ...options, connectors, log: { level: 'error' } });
  engines.push(engine);
  await engine.start({ roles });
  if (janitorAheadMs === undefined) return;
  const ports = { ...systemPorts, databaseTime: () => new Date(Date.now() + janitorAheadMs) };
  const janitor = createSyncline({ ...options, ports, log: { level: 'error' } });
  engines.push(janitor);
  await janitor.start({ roles: ['janitor'] });
}

obeyParent(async (order: EngineOrder): Promise<EngineReport> => {
  if (order.action === 'start') {
    await start(order);
    report = emptyReport();
    cpu = process.cpuUsage();
  }
  if (order.action === 'stop') await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  const { user, system } = process.cpuUsage(cpu);
  const told = { ...report, cpuMs: (user + system) / 1000 };
  report = emptyReport();
  cpu = process.cpuUsage();
  return told;
});
