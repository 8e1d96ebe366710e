import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Budgets } from './budget.ts';
import type { Clock } from './clock.ts';
import type { CredentialHandle, OAuth2 } from './credential.ts';
import { invalidArgument, SynclineError } from './errors.ts';
import type { Wait } from './retry-after.ts';
import type { JobType } from './states.ts';
import type { Webhook } from './webhook.ts';

export type { JobType } from './states.ts';

/** A change at the provider, as a connector returns it. */
export interface Signal<Kind extends string = string, Payload = unknown> {
  /** Such as `issue.opened`. */
  kind: Kind;
  /** A Date, or ISO-8601 text with an offset. */
  occurredAt: Date | string;
  payload: Payload;
  /** Stored once per connection and key. Set it if items may repeat. */
  dedupeKey?: string | undefined;
}

/** Payload schemas by kind. */
export type SignalSchemas = Readonly<Record<string, StandardSchemaV1>>;

/** Payload types by kind. */
export type PayloadsOf<Schemas extends SignalSchemas> = {
  [Kind in keyof Schemas]: StandardSchemaV1.InferInput<Schemas[Kind]>;
};

/** A union over the kinds. */
export type SignalOf<Payloads extends object> = {
  [Kind in keyof Payloads & string]: Signal<Kind, Payloads[Kind]>;
}[keyof Payloads & string];

/** A page of signals and the next cursor. */
export interface SyncResult<Cursor = unknown, Found extends Signal = Signal> {
  signals: readonly Found[];
  /** Stored with the signals; absent: unchanged. */
  nextCursor?: Cursor | null | undefined;
  /** More to fetch: a job with `nextCursor` follows immediately. */
  hasMore?: boolean | undefined;
  /** With `hasMore`: delay of that job, at most a week. */
  retryAfterSeconds?: Wait;
}

/** What a run passes to `sync`. */
export interface SyncContext<Cursor = unknown, Config = unknown> {
  connection: {
    id: string;
    tenantId: string;
    provider: string;
    externalId: string | undefined;
    config: Config;
    metadata: Record<string, unknown>;
  };
  /** Undefined on the first run and for a full sync. */
  cursor: Cursor | undefined;
  job: {
    id: string;
    type: JobType;
    attempts: number;
    scheduledAt: Date;
  };
  /** Aborts on timeout, cancellation or lost lease: pass it to `fetch`. */
  abortSignal: AbortSignal;
  /** Adds job, connection and provider. */
  log: Logger;
  /** OAuth 2 tokens are refreshed automatically. */
  credentials: CredentialHandle;
  /** Shared by all executors. */
  budgets: Budgets;
  /** As the global `fetch`; tests can record, replay and fail it. */
  fetch: typeof fetch;
  /** For time and waiting; tests control it. */
  clock: Clock;
}

/** Schemas are Standard Schemas, such as zod's. */
export interface ConnectorDefinition<
  CursorSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  Provider extends string = string,
  Schemas extends SignalSchemas = SignalSchemas,
> {
  /** As in `connections.provider_slug`. */
  provider: Provider;
  name: string;
  /** Validates the cursor before use and before storing. */
  cursorSchema?: CursorSchema;
  /** Validates and types `connection.config`. */
  configSchema?: ConfigSchema;
  /** Payload schemas by kind. Absent: any kind and payload. */
  signalSchemas?: Schemas;
  oauth2?: OAuth2;
  webhook?: Webhook<SignalOf<PayloadsOf<Schemas>>>;
  /** Fetches one page of changes after `context.cursor`. The engine stores signals and cursor together. */
  sync(
    context: SyncContext<
      StandardSchemaV1.InferOutput<CursorSchema>,
      StandardSchemaV1.InferOutput<ConfigSchema>
    >,
  ): Promise<SyncResult<StandardSchemaV1.InferInput<CursorSchema>, SignalOf<PayloadsOf<Schemas>>>>;
}

/** `Connector` without arguments is any connector. `Config`, `Payloads` and `Cursor` are as stored. */
export interface Connector<
  Provider extends string = string,
  Config = unknown,
  Payloads extends object = Record<string, unknown>,
  Cursor = unknown,
> {
  readonly provider: Provider;
  readonly name: string;
  readonly cursorSchema?: StandardSchemaV1<Cursor, unknown> | undefined;
  readonly configSchema?: StandardSchemaV1<Config, unknown> | undefined;
  readonly signalSchemas?:
    | { readonly [Kind in keyof Payloads]: StandardSchemaV1<Payloads[Kind], unknown> }
    | undefined;
  readonly oauth2?: OAuth2 | undefined;
  readonly webhook?: Webhook | undefined;
  /** As defined. The engine validates its arguments and its result. */
  sync(context: SyncContext): Promise<SyncResult>;
}

/** Types a connector, for `createSyncline` or `defineConfig`. */
export function defineConnector<
  CursorSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  Provider extends string = string,
  Schemas extends SignalSchemas = SignalSchemas,
>(
  definition: ConnectorDefinition<CursorSchema, ConfigSchema, Provider, Schemas>,
): Connector<
  Provider,
  StandardSchemaV1.InferInput<ConfigSchema>,
  PayloadsOf<Schemas>,
  StandardSchemaV1.InferInput<CursorSchema>
> {
  // The engine validates cursor and config before each call, then the result.
  return definition as unknown as ReturnType<
    typeof defineConnector<CursorSchema, ConfigSchema, Provider, Schemas>
  >;
}

export function connectorsByProvider(connectors: unknown): ReadonlyMap<string, Connector> {
  if (!Array.isArray(connectors)) throw invalidOption('connectors', 'an array of connectors', connectors);
  const byProvider = new Map<string, Connector>();
  // Spread: forEach would skip array holes.
  [...connectors].forEach((connector: Partial<Connector> | null | undefined, i) => {
    const at = `connectors[${i}]`;
    const provider = connector?.provider;
    if (typeof provider !== 'string' || provider.trim() === '' || /[\0\p{Surrogate}]/u.test(provider))
      throw invalidOption(`${at}.provider`, 'the slug of a provider', provider);
    if (typeof connector?.sync !== 'function')
      throw invalidOption(`${at}.sync`, 'a function, as in defineConnector({ sync })', connector?.sync);
    for (const [kind, schema] of Object.entries<Partial<StandardSchemaV1>>(connector.signalSchemas ?? {}))
      if (typeof schema?.['~standard']?.validate !== 'function')
        throw invalidOption(`${at}.signalSchemas["${kind}"]`, "a Standard Schema, such as zod's", schema);
    if (byProvider.has(provider))
      throw new SynclineError('CONFIG_INVALID', `Provider "${provider}" has two connectors.`, {
        hint: 'Remove one of them.',
      });
    byProvider.set(provider, connector as Connector);
  });
  return byProvider;
}

/** Other values can contain secrets: only their type is shown. */
function invalidOption(field: string, expected: string, value: unknown): SynclineError {
  const shown = typeof value === 'string' ? JSON.stringify(value) : value === null ? 'null' : typeof value;
  return invalidArgument({ field, expected, value: shown }, 'CONFIG_INVALID');
}
