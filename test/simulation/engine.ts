import { pino } from 'pino';
import {
  type ConfigOptions,
  type Connector,
  createSyncline,
  type Ports,
  type Role,
  type Syncline,
} from '../../src/index.ts';
import type { Random } from './random.ts';
import type { Actor, StepScheduler } from './step-scheduler.ts';
import type { Trace } from './trace.ts';
import { ownerPrefix } from './wire.ts';

/** An engine with its own clock, sessions and random numbers, as in a process of its own. */
export interface Engine extends Actor {
  readonly owner: string;
  readonly roles: readonly Role[];
  readonly syncline: Syncline;
  skewMs: number;
  isStopping: boolean;
  /** Resumes when another engine claims a job after this time. */
  wakesAfterMs: number;
  /** Restricts this to claims of these jobs. */
  wakesFor: ReadonlySet<string> | undefined;
  /** It logged that it could not release its lease. */
  keptLease: boolean;
  /** Whether it generated this id (of a claim or a process). */
  ownsId(id: string): boolean;
}

export interface EngineOptions {
  name: string;
  url: string;
  roles: readonly Role[];
  config: ConfigOptions;
  random: Random;
  now: () => number;
  newId: () => string;
  stepScheduler: StepScheduler;
  trace: Trace;
  connectors: (actor: Actor) => Connector[];
  onLog: (message: string) => void;
}

export function createEngine(options: EngineOptions): Engine {
  const { name, roles, random, now, stepScheduler, trace } = options;
  const owner = `${ownerPrefix}${name}`;
  const startMs = now();
  const ids = new Set<string>();
  const actor = {
    name,
    owner,
    roles,
    random,
    isDead: false,
    pausedUntilMs: 0,
    weight: 1,
    skewMs: 0,
    isStopping: false,
    wakesAfterMs: Number.POSITIVE_INFINITY,
    wakesFor: undefined,
    keptLease: false,
    ownsId: (id: string) => ids.has(id),
  };
  const ports: Ports = {
    now: () => now() + actor.skewMs,
    monotonicMs: () => now() - startMs,
    random: () => random.next(),
    newId: () => {
      const id = options.newId();
      ids.add(id);
      return id;
    },
    sleep: (ms, signal) => stepScheduler.sleep(actor, ms, signal),
    databaseTime: () => new Date(now()),
    query: (text, send) => stepScheduler.statement(actor, text, send),
    fetch: () => Promise.reject(new Error('The simulation has no network.')),
  };
  const logger = pino(
    { level: 'info', base: null },
    {
      write: (text: string) => {
        const { msg } = JSON.parse(text) as { msg: string };
        trace.remark(`${name} logs: ${msg}`);
        if (msg.startsWith('the lease could not be released')) actor.keptLease = true;
        options.onLog(msg);
      },
    },
  );
  const url = new URL(options.url);
  url.searchParams.set('application_name', owner);
  const syncline = createSyncline({
    ...options.config,
    database: { url: url.href, poolSize: 30 },
    connectors: options.connectors(actor),
    ports,
    logger,
  });
  return Object.assign(actor, { syncline });
}
