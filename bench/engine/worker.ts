import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import {
  createSyncline,
  defineConnector,
  type Role,
  type SyncContext,
  type Syncline,
  type SynclineOptions,
  type SyncResult,
  systemPorts,
  TransientError,
} from '../../dist/index.js';
import { providers, syncResult } from '../tools/fleet.ts';
import { serveCommands } from '../tools/serve-commands.ts';
import { nowMs } from '../tools/text.ts';

export interface StartOptions {
  roles: Role[];
  options: Pick<SynclineOptions, 'database' | 'executor' | 'scheduler'>;
  /** `instant` returns one signal without waiting. `numbered` imitates a provider and returns the next number. */
  connector: 'instant' | 'numbered';
  watchedTenant?: string;
  reportLags?: boolean;
  /** Also runs a janitor that deletes rows after this time. */
  retentionMinutes?: number;
}

const providerMs = 50;
/** Probability of a provider failure, and of a second page. */
const [failureRate, secondPageRate] = [0.005, 0.005];
const plannedFailure = 'The provider is unavailable.';
const dayMs = 24 * 3600 * 1000;
const loopResolutionMs = 10;
const errorLevel = 50;
const maxExamples = 5;

const engines: Syncline[] = [];
const loop = monitorEventLoopDelay({ resolution: loopResolutionMs });
const kinds = new Set<string>();
const emptyCounts = () => ({
  calls: 0,
  /** From due to connector call. */
  lagsMs: [] as number[],
  /** Start times of the jobs of the watched tenant. */
  startedAt: new Map<string, number>(),
  /** `warnings` excludes planned failures; `examples` holds the first line of each kind. */
  log: { errors: 0, warnings: 0, examples: [] as string[] },
});
let [counts, cpu, sinceMs] = [emptyCounts(), process.cpuUsage(), performance.now()];

function countLine(line: string): void {
  const { level, msg } = JSON.parse(line) as { level: number; msg: string };
  if (level < errorLevel && msg.includes(plannedFailure)) return;
  if (level >= errorLevel) console.error(line);
  counts.log[level >= errorLevel ? 'errors' : 'warnings']++;
  const kind = msg.replaceAll(/[\da-f]*\d[\da-f]*/g, '#');
  if (kinds.size >= maxExamples || kinds.has(kind)) return;
  kinds.add(kind);
  counts.log.examples.push(msg);
}

async function nextNumber({ connection, cursor }: SyncContext<unknown>): Promise<SyncResult> {
  await delay(providerMs);
  if (Math.random() < failureRate) throw new TransientError(plannedFailure);
  const n = (Number((cursor as { n?: number } | undefined)?.n) || 0) + 1;
  const payload = { n, title: 'A small payload', account: connection.externalId };
  // Half of the connections have no dedupe key, so a duplicate would be stored.
  const key = connection.id.charCodeAt(0) % 2 === 0 && { dedupeKey: `item-${n}` };
  return {
    signals: [{ kind: 'item.added', occurredAt: new Date(), payload, ...key }],
    nextCursor: { n },
    hasMore: Math.random() < secondPageRate,
  };
}

async function start({ roles, connector, retentionMinutes, ...given }: StartOptions): Promise<void> {
  const sync = async (context: SyncContext<unknown>) => {
    const { connection, job } = context;
    const calledAt = nowMs();
    counts.calls++;
    if (given.reportLags) counts.lagsMs.push(calledAt - job.scheduledAt.getTime());
    if (connection.tenantId === given.watchedTenant) counts.startedAt.set(job.id, calledAt);
    return connector === 'numbered' ? nextNumber(context) : syncResult(context);
  };
  const connectors = providers.map((provider) => defineConnector({ provider, name: provider, sync }));
  const options = { ...given.options, logger: pino({ level: 'warn', base: null }, { write: countLine }) };
  const engine = createSyncline({ ...options, connectors });
  engines.push(engine);
  await engine.start({ roles });
  loop.enable();
  if (retentionMinutes === undefined) return;
  // The minimum retention is a day, so the clocks of this janitor are ahead.
  const now = () => Date.now() + dayMs - retentionMinutes * 60_000;
  const janitor = createSyncline({
    ...options,
    retention: { endedJobsDays: 1, signalsDays: 1 },
    ports: { ...systemPorts, now, databaseTime: () => new Date(now()) },
  });
  engines.push(janitor);
  await janitor.start({ roles: ['janitor'] });
}

/** Counters since the last report. */
function report() {
  const { user, system } = process.cpuUsage(cpu);
  const cores = (user + system) / 1000 / (performance.now() - sinceMs);
  // The histogram includes the timer's own resolution.
  const p99 = Math.max(0, loop.percentile(99) / 1e6 - loopResolutionMs);
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  global.gc?.();
  const heapMb = process.memoryUsage().heapUsed / 2 ** 20;
  const answer = { ...counts, rssMb, heapMb, eventLoopMs: { p99 }, cores };
  [counts, cpu, sinceMs] = [emptyCounts(), process.cpuUsage(), performance.now()];
  // Later, so that the pause of the garbage collection is in no report.
  setImmediate(() => loop.reset());
  return answer;
}

const api = {
  start: (options: StartOptions) => start(options).then(report),
  report: async () => report(),
  stop: () => Promise.all(engines.splice(0).map((engine) => engine.stop())).then(report),
};
export type EngineApi = typeof api;
export type EngineReport = ReturnType<typeof report>;
serveCommands(api);
