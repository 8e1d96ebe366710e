import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Logger } from 'pino';
import type { View } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Config } from '../config/settings.ts';
import type { Syncline } from '../syncline.ts';
import type { HostRule } from './hosts.ts';
import type { LocalLogin } from './local-login.ts';
import type { Refusals } from './refusals.ts';
import type { Reservation } from './response-memory.ts';

/** What the service is made from. */
export interface AppOptions {
  syncline: Syncline;
  log: Logger;
  version: string;
  /** Says what to serve at /metrics, in the Prometheus text format; without it there is no such page. */
  metrics?: (() => Promise<string> | string) | undefined;
  /** The folder of the built dashboard; without it only the API is served. */
  dashboard?: string | undefined;
  /** The one-time token that opens a session without a key. */
  localLogin?: LocalLogin | undefined;
  /** Which Host headers are answered; any, where nothing is given. */
  hosts?: HostRule | undefined;
  /** Where this is mounted, if that cannot be seen from the routes: behind a proxy that cuts off a prefix. */
  basePath?: string | undefined;
  /** Asks the application that this is mounted in who somebody is. */
  authenticate?: Authenticate | undefined;
  /** Records refused keys and sessions; by default the app does, and `signal` writes what it has counted. */
  refusals?: Refusals | undefined;
  /** Ends what never ends by itself: live streams and long polls. */
  signal?: AbortSignal | undefined;
  limits?: Partial<Limits> | undefined;
  /** How late the event loop is, in milliseconds; measured unless given. */
  loopDelayMs?: (() => number) | undefined;
  live?: Partial<LiveTimes> | undefined;
}

export type Authenticate = (request: Request) => Caller | undefined | Promise<Caller | undefined>;

export interface Limits {
  /** Requests that are being answered in parallel; one caller may have as many as are free. */
  requests: number;
  /** Requests without a caller that are being answered in parallel. */
  visitors: number;
  /** Bodies that are being received in parallel, but those of deliveries. */
  bodies: number;
  /** Requests without a caller, and bodies, of one address; bodies of one caller. */
  perAddress: number;
  /** Deliveries that are being received or dealt with in parallel. */
  deliveries: number;
  /** … of one address. */
  deliveriesPerAddress: number;
  /** How late the event loop may be before requests are refused, in milliseconds. */
  loopDelayMs: number;
  /** How long a refusal for one of these limits is held back, in milliseconds. */
  refusalMs: number;
  /** How long a whole body may take to come in, in milliseconds. */
  bodyMs: number;
  /** Live streams and long polls that are open at once. */
  streams: number;
  /** … of one key, session or person. */
  streamsPerCaller: number;
  bodyBytes: number;
  /** Of responses that can be large, while they are built and sent. */
  responsesBytes: number;
  /** Of the form with which a person goes on to a provider. */
  formBytes: number;
  /** Of all bodies that are being read or dealt with, but those of deliveries. */
  bodiesBytes: number;
  /** Of one delivery to a webhook. */
  deliveryBytes: number;
  /** Of all deliveries that are being read or dealt with. */
  deliveriesBytes: number;
  urlLength: number;
  queryParameters: number;
}

export const defaultLimits = {
  bodies: 1000,
  // As many as the server has sockets, and half of them.
  deliveries: 2000,
  deliveriesPerAddress: 1000,
  bodyMs: 30_000,
  refusalMs: 500,
  bodyBytes: 1024 * 1024,
  // Eight pages of the largest size.
  responsesBytes: 64 * 1024 * 1024,
  formBytes: 1000,
  bodiesBytes: 64 * 1024 * 1024,
  // GitHub sends up to 25 MB, and nothing at all where that would be more.
  deliveryBytes: 25 * 1024 * 1024,
  // Two of the largest and thousands of the usual size, which is a few kilobytes. They are held twice while they are put together.
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
    streamsPerCaller: Math.ceil(maxConcurrentRequests / 4),
  };
}

/** How often a live stream says something when nothing happens. */
export interface LiveTimes {
  pulseMs: number;
  /** Also how often it is checked that the caller still may listen. */
  heartbeatMs: number;
}

/** Who asks, and how it can be told that they still may. */
export interface RequestCaller {
  who: Caller;
  /** The same for every request with the same key, session or person. */
  id: string;
  isStillAllowed(): Promise<boolean>;
}

export interface HttpEnv {
  Variables: {
    /** The path that this is mounted under: empty, or with a slash in front and none at the end. */
    base: string;
    /** The rest of the path: always with a slash in front. */
    path: string;
    caller: RequestCaller;
    /** Where the request comes from, as far as that is known: what limits without a caller are counted by. */
    address: string;
    /** The request holds a slot already. */
    hasSlot: boolean;
    /** Everything a handler can do. What the caller may not see is not in it. */
    view: View;
    /** Of memory for the response. */
    reservation: Reservation;
  };
  /** The server's own part of a request. Absent where the app runs on something else than Node. */
  Bindings: Partial<HttpBindings> & { stopping?: AbortSignal };
}

export type App = OpenAPIHono<HttpEnv>;
