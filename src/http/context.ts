import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { Caller, Syncline, SynclineApi } from '../index.ts';
import type { DashboardFiles } from './assets.ts';
import type { Bindings } from './bindings.ts';
import type { DemoProviders } from './demo-providers.ts';
import type { Authenticate } from './handler-options.ts';
import type { HostRule } from './hosts.ts';
import type { LocalLogin } from './local-login.ts';
import type { Refusals } from './refusals.ts';
import type { Reservation } from './response-memory.ts';

export interface AppOptions {
  syncline: Syncline;
  log: Logger;
  version: string;
  metrics?: (() => Promise<string> | string) | undefined;
  dashboard?: (() => Promise<DashboardFiles>) | undefined;
  localLogin?: LocalLogin | undefined;
  demo?: DemoProviders | undefined;
  hosts?: HostRule | undefined;
  /** Default: that of the request's bindings. */
  basePath?: string | undefined;
  authenticate?: Authenticate | undefined;
  /** Default: the app's own, flushed when `signal` aborts. */
  refusals?: Refusals | undefined;
  /** Ends live streams and long polls. */
  signal?: AbortSignal | undefined;
  limits?: Partial<Limits> | undefined;
  loopDelayMs?: (() => number) | undefined;
  live?: Partial<LiveTimes> | undefined;
}

export interface Limits {
  /** Concurrent requests of callers. */
  requests: number;
  visitors: number;
  /** Body reads of callers, and as many of visitors; except deliveries. */
  bodies: number;
  /** Unauthenticated requests and body reads; body reads per caller. */
  perAddress: number;
  deliveries: number;
  deliveriesPerAddress: number;
  /** Above this, requests get 503. */
  loopDelayMs: number;
  /** Delay of 429 and 503 responses. */
  refusalMs: number;
  bodyMs: number;
  /** Live streams and long polls. */
  streams: number;
  bodyBytes: number;
  responsesBytes: number;
  /** Login and consent. */
  visitorBodyBytes: number;
  /** All bodies of callers. */
  bodiesBytes: number;
  deliveryBytes: number;
  deliveriesBytes: number;
  urlLength: number;
  queryParameters: number;
}

export const defaultLimits = {
  bodies: 1000,
  // As `maxConnections` of the server.
  deliveries: 2000,
  deliveriesPerAddress: 1000,
  bodyMs: 30_000,
  refusalMs: 500,
  bodyBytes: 1024 * 1024,
  // Eight maximum pages.
  responsesBytes: 64 * 1024 * 1024,
  visitorBodyBytes: 1000,
  bodiesBytes: 64 * 1024 * 1024,
  // GitHub's limit.
  deliveryBytes: 25 * 1024 * 1024,
  // Two maximum deliveries, each held twice.
  deliveriesBytes: 100 * 1024 * 1024,
  urlLength: 8192,
  queryParameters: 50,
} satisfies Partial<Limits>;

export function limitsOf(config: Config['server']): Limits {
  const { maxConcurrentRequests, maxRequestsPerAddress, maxLoopDelayMs } = config;
  return {
    ...defaultLimits,
    requests: maxConcurrentRequests,
    visitors: maxConcurrentRequests,
    perAddress: maxRequestsPerAddress,
    loopDelayMs: maxLoopDelayMs,
    streams: Math.ceil(maxConcurrentRequests / 2),
  };
}

export interface LiveTimes {
  pulseMs: number;
  /** Also re-checks authorization. */
  heartbeatMs: number;
}

export interface RequestCaller extends Caller {
  /** Key of its limits. */
  id: string;
  isStillAllowed(): Promise<boolean>;
}

export interface HttpEnv {
  Variables: {
    /** Without a trailing slash. */
    base: string;
    /** Below `base`, with a leading slash. */
    path: string;
    caller: RequestCaller;
    address: string;
    hasSlot: boolean;
    view: SynclineApi;
    reservation: Reservation;
  };
  Bindings: Bindings;
}

export type App = OpenAPIHono<HttpEnv>;
