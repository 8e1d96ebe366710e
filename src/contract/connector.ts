import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Budgets } from './budget.ts';
import type { CredentialHandle, OAuth2 } from './credential.ts';
import { SynclineError } from './errors.ts';
import type { Wait } from './retry-after.ts';
import type { Webhook } from './webhook.ts';

export type JobType = 'incremental' | 'full' | 'webhook';

/** One event, in the words of your product. */
export interface Signal {
  /** What happened, such as `issue.opened`. */
  kind: string;
  /** When it happened: a Date, or ISO-8601 text that states its offset. */
  occurredAt: Date | string;
  /** Anything that is JSON. */
  payload: unknown;
  /** Two signals of a connection with the same key are one. Give one wherever the provider may show an item twice. */
  dedupeKey?: string | undefined;
}

/** What one call of `sync` found: a page of signals, and where to go on. */
export interface SyncResult<Cursor = unknown> {
  signals: readonly Signal[];
  /** Stored together with the signals, and handed to the next run; the old one stays where there is none. */
  nextCursor?: Cursor | null | undefined;
  /** Whether there is more to fetch right now: a job with `nextCursor` then follows at once. */
  hasMore?: boolean | undefined;
  /**
   * With `hasMore`: the provider wants to be left alone for so long, and the job that follows waits, a week at most. Seconds, or
   * what a Retry-After header says: seconds or an HTTP date.
   */
  retryAfterSeconds?: Wait;
}

export interface SyncContext<Cursor = unknown, Config = unknown> {
  connection: {
    id: string;
    tenantId: string;
    provider: string;
    externalId: string | undefined;
    config: Config;
    metadata: Record<string, unknown>;
  };
  /** Where the last run left off; undefined on a first run, and for a full sync. */
  cursor: Cursor | undefined;
  job: {
    id: string;
    type: JobType;
    /** Failures of this job so far. */
    attempts: number;
    scheduledAt: Date;
  };
  /** Aborts when the run has taken too long, was cancelled, or is no longer this process's. Hand it to `fetch`. */
  abortSignal: AbortSignal;
  /** Every line carries the job, the connection and the provider. */
  log: Logger;
  /** What opens the provider: kept encrypted, and renewed when its time is up. */
  credentials: CredentialHandle;
  /** How much may still be asked of the provider, by the whole fleet. */
  budgets: Budgets;
  /** As the platform's own. Everything that goes out through it can be recorded, replayed and made to fail in a test. */
  fetch: typeof fetch;
}

/** What a connector author writes. `CursorSchema` and `ConfigSchema` are any Standard Schema, such as one of zod. */
export interface ConnectorDefinition<
  CursorSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
> {
  /** The slug of the provider: what `connections.provider_slug` says. */
  provider: string;
  /** The provider's name, for people. */
  name: string;
  /** Checks the cursor before it is used and before it is stored. */
  cursorSchema?: CursorSchema;
  /** Checks `connection.config`, and gives it its type. */
  configSchema?: ConfigSchema;
  /** How people give their consent, where the provider speaks OAuth 2. */
  oauth2?: OAuth2;
  /** What the provider may send by itself, and how it is known to be the provider's. */
  webhook?: Webhook;
  sync(
    context: SyncContext<
      StandardSchemaV1.InferOutput<CursorSchema>,
      StandardSchemaV1.InferOutput<ConfigSchema>
    >,
  ): Promise<SyncResult<StandardSchemaV1.InferInput<CursorSchema>>>;
}

/** A connector as the engine runs it. */
export interface Connector {
  readonly provider: string;
  readonly name: string;
  readonly cursorSchema?: StandardSchemaV1 | undefined;
  readonly configSchema?: StandardSchemaV1 | undefined;
  readonly oauth2?: OAuth2 | undefined;
  readonly webhook?: Webhook | undefined;
  sync(context: SyncContext): Promise<SyncResult>;
}

/** Gives a connector its types. What it returns goes into `createSyncline({ connectors })` or `defineConfig`. */
export function defineConnector<
  CursorSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1<unknown>,
>(definition: ConnectorDefinition<CursorSchema, ConfigSchema>): Connector {
  // The engine checks cursor and config against the schemas before it calls, so what arrives has the type it should.
  return definition as unknown as Connector;
}

/** By the slug of their provider. Refuses what is no connector, and two for one provider. */
export function connectorsByProvider(connectors: unknown): ReadonlyMap<string, Connector> {
  if (!Array.isArray(connectors)) throw wrong('connectors', 'an array of connectors');
  const byProvider = new Map<string, Connector>();
  // A copy has no holes, which would be passed over.
  [...connectors].forEach((connector: Partial<Connector> | null | undefined, i) => {
    const at = `connectors[${i}]`;
    const provider = connector?.provider;
    if (typeof provider !== 'string' || provider.trim() === '' || /[\0\p{Surrogate}]/u.test(provider))
      throw wrong(`${at}.provider`, 'the slug of a provider');
    if (typeof connector?.sync !== 'function')
      throw wrong(`${at}.sync`, 'a function; write it with defineConnector');
    if (byProvider.has(provider))
      throw new SynclineError('CONFIG_INVALID', `There are two connectors for provider "${provider}".`, {
        hint: 'Remove one of them.',
      });
    byProvider.set(provider, connector as Connector);
  });
  return byProvider;
}

function wrong(what: string, expected: string): SynclineError {
  return new SynclineError('CONFIG_INVALID', `${what} must be ${expected}.`);
}
