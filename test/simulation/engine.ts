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
import type { Actor, Stage } from './stage.ts';
import type { Trace } from './trace.ts';
import { ownerPrefix } from './wire.ts';

/** An engine as it would be in a process of its own: with its own clock, its own sessions, its own luck. */
export interface Engine extends Actor {
  readonly owner: string;
  readonly roles: readonly Role[];
  readonly syncline: Syncline;
  /** How far its clock is off. */
  skewMs: number;
  /** It was told to stop. */
  isStopping: boolean;
  /** It stands still until somebody else has claimed something after its lease was over: the worst moment to wake up. */
  wakesAfterMs: number;
  /** Only one of these jobs wakes it then; undefined: any. */
  wakesFor: ReadonlySet<string> | undefined;
  /** It could not give its lease back, and said so. */
  keepsLease: boolean;
  /** Whether this is an id that it made: a claim, a process. */
  made(id: string): boolean;
}

export interface EngineOptions {
  name: string;
  url: string;
  roles: readonly Role[];
  config: ConfigOptions;
  random: Random;
  now: () => number;
  newId: () => string;
  stage: Stage;
  trace: Trace;
  connectors: (actor: Actor) => Connector[];
  onSaid: (message: string) => void;
}

export function createEngine(options: EngineOptions): Engine {
  const { name, roles, random, now, stage, trace } = options;
  const owner = `${ownerPrefix}${name}`;
  const bornMs = now();
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
    keepsLease: false,
    made: (id: string) => ids.has(id),
  };
  const ports: Ports = {
    now: () => now() + actor.skewMs,
    monotonicMs: () => now() - bornMs,
    random: () => random.next(),
    newId: () => {
      const id = options.newId();
      ids.add(id);
      return id;
    },
    sleep: (ms, signal) => stage.sleep(actor, ms, signal),
    databaseTime: () => new Date(now()),
    query: (text, send) => stage.statement(actor, text, send),
    fetch: () => Promise.reject(new Error('Nothing is fetched here.')),
  };
  const logger = pino(
    { level: 'info', base: null },
    {
      write: (text: string) => {
        const { msg } = JSON.parse(text) as { msg: string };
        trace.remark(`${name} says: ${msg}`);
        if (msg.startsWith('the lease could not be given back')) actor.keepsLease = true;
        options.onSaid(msg);
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
