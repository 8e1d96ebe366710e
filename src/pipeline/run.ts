import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import type { Budgets } from '../contract/budget.ts';
import type { Connector, SyncContext } from '../contract/connector.ts';
import type { Credential, CredentialHandle } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';
import { syncOf } from '../schedule/sync-metadata.ts';
import { isObject } from '../values/is-object.ts';
import { maxDepth } from '../values/limits.ts';
import { exceedsDepth } from '../values/nesting.ts';
import { createSecretRedactor, type SecretRedactor, secretsOf, secretTexts } from '../values/redact.ts';
import { check } from '../values/standard-schema.ts';
import { parseStored } from '../values/stored-json.ts';
import type { ClaimedJob } from './claim.ts';
import type { RunResources } from './resources.ts';
import { checkResult, type Page } from './result.ts';
import type { RunAbort } from './run-abort.ts';

export type RunEnd = { page: Page } | { error: unknown };

export interface RunOptions {
  abort: RunAbort;
  /** On first use: few connectors log. */
  log: () => Logger;
  resources: RunResources;
  redactor: SecretRedactor;
}

export function redactorFor({ connection }: ClaimedJob, { oauth2, webhook }: Connector): SecretRedactor {
  return createSecretRedactor(() => [
    ...secretTexts(parseStored(connection.config)),
    oauth2?.clientSecret,
    webhook?.secret,
  ]);
}

/** EXE-8: never rejects. Resolves on abort even if the connector hangs. */
export function run(job: ClaimedJob, connector: Connector, options: RunOptions): Promise<RunEnd> {
  return new Promise((resolve) => {
    options.abort.onAbort((reason) => resolve({ error: reason }));
    sync(job, connector, options).then(
      (page) => resolve({ page }),
      (error: unknown) => resolve({ error }),
    );
  });
}

async function sync(job: ClaimedJob, connector: Connector, options: RunOptions): Promise<Page> {
  const { externalId, config } = job.connection;
  const { abort, resources } = options;
  const { configSchema, cursorSchema } = connector;
  const storedConfig = parseStored(config);
  const storedCursor = usableCursor(job);
  let parsedMetadata: Record<string, unknown> | undefined;
  let log: Logger | undefined;
  let credentials: CredentialHandle | undefined;
  let budgets: Budgets | undefined;
  const context: SyncContext = {
    connection: {
      id: job.connectionId,
      tenantId: job.tenantId,
      provider: job.providerSlug,
      externalId,
      config: configSchema
        ? await validate(configSchema, storedConfig, 'connection.config', 'Correct it.')
        : storedConfig,
      get metadata() {
        parsedMetadata ??= metadataOf(job);
        return parsedMetadata;
      },
    },
    cursor:
      cursorSchema && storedCursor !== undefined
        ? await validate(
            cursorSchema,
            storedCursor,
            'The stored cursor',
            'Correct it, or trigger a full sync.',
          )
        : storedCursor,
    job: { id: job.id, type: job.type, attempts: job.attempts, scheduledAt: new Date(job.scheduledAt) },
    get abortSignal() {
      return abort.signal;
    },
    get log() {
      log ??= options.log();
      return log;
    },
    get credentials() {
      credentials ??= trackSecrets(resources.credentials(job, abort.signal), options.redactor);
      return credentials;
    },
    get budgets() {
      budgets ??= resources.budgets(job);
      return budgets;
    },
    fetch: resources.fetch,
    clock: resources.clock,
  };
  return checkResult(await connector.sync(context), connector);
}

function trackSecrets(handle: CredentialHandle, redactor: SecretRedactor): CredentialHandle {
  const tracked = async (pending: Promise<Credential>) => {
    const credential = await pending;
    redactor.add(secretsOf(credential));
    return credential;
  };
  return {
    id: handle.id,
    get: () => tracked(handle.get()),
    renew: (refused) => tracked(handle.renew(refused)),
    save: (fields) => {
      redactor.add(secretTexts(fields, true));
      return handle.save(fields);
    },
  };
}

function usableCursor(job: ClaimedJob): unknown {
  const cursor = effectiveCursor(job);
  if (exceedsDepth(cursor, maxDepth.result))
    throw new PermanentError(
      `The stored cursor is nested deeper than ${maxDepth.result} levels. Correct it, or trigger a full sync.`,
    );
  return cursor;
}

/** EXE-4. A new value per call. */
export function effectiveCursor(job: ClaimedJob): unknown {
  if (job.cursor !== undefined) return parseStored(job.cursor);
  return job.type === 'full' ? undefined : (syncOf(metadataOf(job))['cursor'] ?? undefined);
}

function metadataOf({ connection }: ClaimedJob): Record<string, unknown> {
  const metadata = parseStored(connection.metadata);
  return isObject(metadata) ? metadata : {};
}

/** Permanent: a retry reads the same value. */
async function validate(
  schema: StandardSchemaV1,
  value: unknown,
  what: string,
  remedy: string,
): Promise<unknown> {
  const checked = await check(schema, value);
  // Schema messages may end with a period.
  const problem = checked.problem?.replace(/\.$/, '');
  if (problem)
    throw new PermanentError(`${what} does not match the connector's schema: ${problem}. ${remedy}`);
  return checked.value;
}
