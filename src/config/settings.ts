import { z } from 'zod';
import { keyForm, maskKeys, parseKeys } from './credential-keys.ts';
import { maskUrl } from './mask-url.ts';
import { type RateLimitField, rateLimitFields } from './rate-limits.ts';
import { choice, flag, fraction, integer, type Setting, setting } from './setting.ts';

const weekSeconds = 7 * 24 * 3600;

/** A provider's own part of the rate-limit policy; what is absent is as for all. */
export type ProviderRateLimit = { [Field in RateLimitField]?: number | undefined };

const listFromText = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Every default and bound of Syncline. */
export const settings = {
  database: {
    url: setting<string | undefined>(
      {
        env: ['SYNCLINE_DATABASE_URL', 'DATABASE_URL'],
        default: undefined,
        about: 'The Postgres to run on.',
      },
      {
        schema: z
          .string()
          .refine((url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url))
          .optional(),
        allowed: 'a URL such as postgres://user:password@host:5432/database',
        fromText: (text) => text.trim(),
        show: maskUrl,
      },
    ),
    schema: setting<string>(
      {
        env: 'SYNCLINE_DATABASE_SCHEMA',
        default: 'syncline',
        about:
          'The Postgres schema that holds every table. Several engines can share a database, a schema each.',
      },
      {
        // Postgres cuts longer names off, so two schemas could silently become one.
        schema: z
          .string()
          .refine((name) => Buffer.byteLength(name) <= 63 && name.length > 0 && !name.includes('\0')),
        allowed: 'a name of 1 to 63 bytes',
        fromText: (text) => text,
      },
    ),
    poolSize: integer({
      env: 'SYNCLINE_DATABASE_POOL_SIZE',
      default: 10,
      min: 2,
      max: 200,
      unit: 'connections',
      about: 'Too low: roles wait for each other. Too high: a fleet exhausts the server (max_connections).',
    }),
  },
  scheduler: {
    tickIntervalSeconds: integer({
      env: 'SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS',
      default: 60,
      min: 10,
      max: 300,
      unit: 'seconds',
      about:
        'How often due connections are looked for, and how far ahead. Too low: idle queries. Too high: new connections wait.',
    }),
    defaultIntervalSeconds: integer({
      env: 'SYNCLINE_SCHEDULER_DEFAULT_INTERVAL_SECONDS',
      default: 900,
      min: 60,
      max: weekSeconds,
      unit: 'seconds',
      about: 'The interval of connections that set none.',
    }),
    jitterPctMin: fraction({
      env: 'SYNCLINE_SCHEDULER_JITTER_PCT_MIN',
      default: 0,
      about: 'The least jitter, as a fraction of the interval.',
    }),
    jitterPctMax: fraction({
      env: 'SYNCLINE_SCHEDULER_JITTER_PCT_MAX',
      default: 0.2,
      about:
        'The most jitter, as a fraction of the interval. Too low: runs of many connections come in herds.',
    }),
    maxOverriddenIntervalSeconds: integer({
      env: 'SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS',
      default: 86_400,
      min: 60,
      max: weekSeconds,
      unit: 'seconds',
      about: 'The longest interval that a connection may set for itself.',
    }),
    batchSize: integer({
      env: 'SYNCLINE_SCHEDULER_BATCH_SIZE',
      default: 1000,
      min: 1,
      max: 10_000,
      unit: 'connections',
      about:
        'Connections placed per transaction. Too low: a commit each. Too high: long locks and more memory.',
    }),
  },
  executor: {
    concurrency: integer({
      env: 'SYNCLINE_EXECUTOR_CONCURRENCY',
      default: 50,
      min: 1,
      max: 5000,
      unit: 'jobs',
      about:
        'Jobs that a process runs at once. Too low: due jobs wait. Too high: memory holds as many pages of signals, and providers see as many requests at once.',
    }),
    claimBatch: integer({
      env: 'SYNCLINE_EXECUTOR_CLAIM_BATCH',
      default: 200,
      min: 1,
      max: 1000,
      unit: 'jobs',
      about:
        'The most jobs taken, and the most stored, in one transaction. Too low: a commit each. Too high: one process takes what others could have begun.',
    }),
    pollIntervalMs: integer({
      env: 'SYNCLINE_EXECUTOR_POLL_INTERVAL_MS',
      default: 5000,
      min: 50,
      max: 60_000,
      unit: 'milliseconds',
      about:
        'How often an idle process looks for due jobs that nothing told it of. Too low: idle queries. Too high: jobs that others insert in SQL start late.',
    }),
    leaseSeconds: integer({
      env: 'SYNCLINE_EXECUTOR_LEASE_SECONDS',
      default: 30,
      min: 2,
      max: 3600,
      unit: 'seconds',
      about:
        'How long a silent process keeps its jobs. Too low: a short pause of a process or of the network ends its runs. Too high: jobs of a dead process wait.',
    }),
    maxRunSeconds: integer({
      env: 'SYNCLINE_EXECUTOR_MAX_RUN_SECONDS',
      default: 300,
      min: 1,
      max: 86_400,
      unit: 'seconds',
      about:
        'How long one run may take. Too low: slow providers never finish a page. Too high: a connector that hangs keeps its slot.',
    }),
    shutdownGraceSeconds: integer({
      env: 'SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS',
      default: 20,
      min: 0,
      max: 3600,
      unit: 'seconds',
      about:
        'How long runs may finish after the process was told to end. Too low: work is done again. Too high: the platform kills the process first (Kubernetes after 30 s).',
    }),
  },
  rateLimit: {
    baseSeconds: integer({
      env: 'SYNCLINE_RATELIMIT_BASE_SECONDS',
      default: 5,
      min: 1,
      max: 3600,
      unit: 'seconds',
      about: 'The pause after a first failure; it doubles with each further one.',
    }),
    maxSeconds: integer({
      env: 'SYNCLINE_RATELIMIT_MAX_SECONDS',
      default: 900,
      min: 1,
      max: 86_400,
      unit: 'seconds',
      about:
        'The longest pause between tries, unless the provider asks for more. Too low: a provider in trouble gets more of it. Too high: recovery is noticed late.',
    }),
    jitterFactor: fraction({
      env: 'SYNCLINE_RATELIMIT_JITTER_FACTOR',
      default: 0.1,
      about:
        'How much longer a pause may be at random, as a fraction of it. Too low: connections that failed together come back together.',
    }),
    providers: setting<Readonly<Record<string, ProviderRateLimit>>>(
      {
        env: rateLimitFields.map(({ suffix }) => `SYNCLINE_RATELIMIT_<PROVIDER>_${suffix}`),
        default: {},
        about:
          'Other values for single providers, by slug: { github: { baseSeconds: 60 } }. In variables the slug is in capitals, with _ for everything but letters and digits.',
      },
      {
        schema: z.record(
          z.string(),
          z.strictObject({
            baseSeconds: z.number().int().min(1).max(3600).optional(),
            maxSeconds: z.number().int().min(1).max(86_400).optional(),
            jitterFactor: z.number().min(0).max(1).optional(),
          }),
        ),
        allowed:
          'an object of providers, each with baseSeconds (1 to 3600), maxSeconds (1 to 86400) or jitterFactor (0 to 1)',
        fromText: (text) => text,
      },
    ),
  },
  retention: {
    endedJobsDays: integer({
      env: 'SYNCLINE_RETENTION_ENDED_JOBS_DAYS',
      default: 7,
      min: 1,
      max: 3650,
      unit: 'days',
      about:
        'How long ended jobs are kept. Longer history costs disk and vacuum time, never scheduling time.',
    }),
    eventsDays: integer({
      env: 'SYNCLINE_RETENTION_EVENTS_DAYS',
      default: 365,
      min: 1,
      max: 3650,
      unit: 'days',
      about: 'How long it is kept who changed what, and why.',
    }),
    signalsDays: integer({
      env: 'SYNCLINE_RETENTION_SIGNALS_DAYS',
      default: 0,
      min: 0,
      max: 36_500,
      unit: 'days',
      about:
        'How long signals are kept, and the feed with them. 0 keeps them: they are your data, and yours to delete.',
    }),
    statsDays: integer({
      env: 'SYNCLINE_RETENTION_STATS_DAYS',
      default: 8,
      min: 1,
      max: 3650,
      unit: 'days',
      about: 'How long counts per minute are kept. The dashboard shows a week.',
    }),
  },
  server: {
    host: setting<string>(
      {
        env: 'SYNCLINE_SERVER_HOST',
        default: '127.0.0.1',
        about:
          'The address that the API and the dashboard listen on. Loopback unless set; put a proxy that speaks TLS in front of anything else.',
      },
      { schema: z.string().min(1), allowed: 'an address or host name', fromText: (text) => text.trim() },
    ),
    port: integer({
      env: 'SYNCLINE_SERVER_PORT',
      default: 4400,
      min: 0,
      max: 65_535,
      about: 'The port of the API and the dashboard; 0 picks a free one.',
    }),
    hosts: setting<readonly string[]>(
      {
        env: 'SYNCLINE_SERVER_HOSTS',
        default: [],
        about:
          'Host names under which the service may be called, besides the one it listens on. Others are refused, so that no web page can reach it through a name of its own.',
      },
      {
        schema: z.array(z.string().min(1).max(255)).max(100),
        allowed: 'a list of host names, in the environment separated by commas',
        fromText: listFromText,
      },
    ),
    publicUrl: setting<string | undefined>(
      {
        env: 'SYNCLINE_SERVER_PUBLIC_URL',
        default: undefined,
        about:
          'Where browsers and providers reach the service. Providers send people who gave their consent back to it; unless set, to the host that was asked.',
      },
      {
        schema: z
          .string()
          .refine((url) => /^https?:\/\/[^/?#@]+[^?#@]*$/.test(url) && URL.canParse(url))
          .optional(),
        allowed: 'a URL such as https://sync.example.com, without query',
        fromText: (text) => text.trim(),
      },
    ),
    returnOrigins: setting<readonly string[]>(
      {
        env: 'SYNCLINE_SERVER_RETURN_ORIGINS',
        default: [],
        about:
          'Origins of your product to which people may be sent back after they gave a provider their consent, besides that of the service itself. Others are refused, so that nobody can be led astray.',
      },
      {
        schema: z
          .array(z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text))
          .max(100),
        allowed: 'a list of origins such as https://app.example.com, in the environment separated by commas',
        fromText: listFromText,
      },
    ),
    maxConcurrentRequests: integer({
      env: 'SYNCLINE_SERVER_MAX_CONCURRENT_REQUESTS',
      default: 100,
      min: 1,
      max: 10_000,
      unit: 'requests',
      about:
        'Requests answered at once; more are told to come back. Too high: they wait for database connections instead. Live streams and long polls have as many places of their own.',
    }),
  },
  credentials: {
    keys: setting<readonly string[]>(
      {
        env: 'SYNCLINE_CREDENTIALS_KEYS',
        default: [],
        about:
          'What encrypts credentials: the first key encrypts, all decrypt. Without one no credential can be stored. Lose them, and every customer has to connect again.',
      },
      {
        schema: z
          .array(z.string())
          .max(20)
          .refine((keys) => parseKeys(keys) !== undefined),
        allowed: keyForm,
        fromText: listFromText,
        show: maskKeys,
      },
    ),
  },
  metrics: {
    host: setting<string>(
      {
        env: 'SYNCLINE_METRICS_HOST',
        default: '127.0.0.1',
        about: 'The address /metrics listens on. Loopback unless set, since it names tenants.',
      },
      { schema: z.string().min(1), allowed: 'an address or host name', fromText: (text) => text.trim() },
    ),
    port: integer({
      env: 'SYNCLINE_METRICS_PORT',
      default: 9464,
      min: 0,
      max: 65_535,
      about: 'The port of /metrics; 0 picks a free one.',
    }),
    tenantLabel: flag({
      env: 'SYNCLINE_METRICS_TENANT_LABEL',
      default: true,
      about:
        'Whether counters carry tenant_id. Turn off with many tenants: each is a time series of its own.',
    }),
  },
  log: {
    level: choice({
      env: 'SYNCLINE_LOG_LEVEL',
      default: 'info',
      of: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      about: 'The least severe log line that is written. debug shows every placed job.',
    }),
  },
} as const;

type Settings = typeof settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What is in force: every value validated and frozen. */
export type Config = {
  readonly [Section in keyof Settings]: {
    readonly [Key in keyof Settings[Section]]: ValueOf<Settings[Section][Key]>;
  };
};

type SectionOptions = {
  [Section in keyof Config]?:
    | { [Key in keyof Config[Section]]?: Config[Section][Key] | undefined }
    | undefined;
};

/** What may be given: any part of the configuration. `database` may be just its URL. */
export type ConfigOptions = Omit<SectionOptions, 'database'> & {
  database?: SectionOptions['database'] | string;
};
