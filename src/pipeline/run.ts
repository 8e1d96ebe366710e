import type { Logger } from 'pino';
import type { Budgets } from '../contract/budget.ts';
import type { Connector, SyncContext } from '../contract/connector.ts';
import type { Credential, CredentialHandle } from '../contract/credential.ts';
import { PermanentError } from '../contract/errors.ts';
import { syncOf } from '../schedule/sync-metadata.ts';
import { isDeeper } from '../values/nesting.ts';
import { createSecrecy, type Secrecy, secretsOf, secretTexts } from '../values/redact.ts';
import { check } from '../values/standard-schema.ts';
import type { ClaimedJob } from './claim.ts';
import type { RunResources } from './resources.ts';
import { checkResult, deepestJson, type Page } from './result.ts';

/** How a run ended: with a page, or with whatever was thrown. */
export type RunEnd = { page: Page } | { error: unknown };

export interface RunOptions {
  abortSignal: AbortSignal;
  /** Made only when the connector asks for it: most never log, and a child logger costs. */
  log: () => Logger;
  resources: RunResources;
  /** Learns what the connector gets to know. */
  secrecy: Secrecy;
}

/** What a run is told from the beginning and must not tell, wherever its connector puts it. */
export function secrecyOf({ connection }: ClaimedJob, { oauth2, webhook }: Connector): Secrecy {
  return createSecrecy(() => [...secretTexts(connection.config), oauth2?.clientSecret, webhook?.secret]);
}

/** EXE-8: calls the connector and never throws. Ends as soon as the signal aborts, whatever the connector does. */
export async function run(job: ClaimedJob, connector: Connector, options: RunOptions): Promise<RunEnd> {
  const { abortSignal } = options;
  let stopWaiting = () => {};
  const aborted = new Promise<RunEnd>((resolve) => {
    const end = () => resolve({ error: abortSignal.reason });
    if (abortSignal.aborted) end();
    abortSignal.addEventListener('abort', end, { once: true });
    stopWaiting = () => abortSignal.removeEventListener('abort', end);
  });
  const synced = sync(job, connector, options).then(
    (page): RunEnd => ({ page }),
    (error: unknown): RunEnd => ({ error }),
  );
  const end = await Promise.race([synced, aborted]);
  stopWaiting();
  return end;
}

async function sync(job: ClaimedJob, connector: Connector, options: RunOptions): Promise<Page> {
  const { externalId, config, metadata } = job.connection;
  const { resources } = options;
  let own: Record<string, unknown> | undefined;
  let log: Logger | undefined;
  let credentials: CredentialHandle | undefined;
  let budgets: Budgets | undefined;
  const context: SyncContext = {
    connection: {
      id: job.connectionId,
      tenantId: job.tenantId,
      provider: job.providerSlug,
      externalId,
      config: await fitting(connector.configSchema, config, 'connection.config', 'Correct it.'),
      // A copy, as the cursor in it is one; made only when the connector asks for it.
      get metadata() {
        own ??= structuredClone(metadata);
        return own;
      },
    },
    cursor: await usableCursor(job, connector),
    job: { id: job.id, type: job.type, attempts: job.attempts, scheduledAt: new Date(job.scheduledAt) },
    abortSignal: options.abortSignal,
    get log() {
      log ??= options.log();
      return log;
    },
    get credentials() {
      credentials ??= confided(resources.credentials(job, options.abortSignal), options.secrecy);
      return credentials;
    },
    get budgets() {
      budgets ??= resources.budgets(job);
      return budgets;
    },
    fetch: resources.fetch,
  };
  return checkResult(await connector.sync(context), connector);
}

/** The same, and whatever passes through it is remembered as a secret. */
function confided(handle: CredentialHandle, secrecy: Secrecy): CredentialHandle {
  const told = async (asked: Promise<Credential>) => {
    const credential = await asked;
    secrecy.add(secretsOf(credential));
    return credential;
  };
  return {
    id: handle.id,
    get: () => told(handle.get()),
    renew: (refused) => told(handle.renew(refused)),
    save: (fields) => {
      secrecy.add(secretTexts(fields, true));
      return handle.save(fields);
    },
  };
}

async function usableCursor(job: ClaimedJob, { cursorSchema }: Connector): Promise<unknown> {
  const cursor = effectiveCursor(job);
  if (cursor === undefined) return undefined;
  if (isDeeper(cursor, deepestJson))
    throw new PermanentError(
      `The stored cursor is nested deeper than ${deepestJson} levels. Correct it, or trigger a full sync.`,
    );
  // A copy: a connector that moves it on in place must not change what it is compared with afterwards.
  return fitting(
    cursorSchema,
    structuredClone(cursor),
    'The stored cursor',
    'Correct it, or trigger a full sync.',
  );
}

/** EXE-4: the job's own cursor, else the connection's; a full sync without one starts from nothing. */
export function effectiveCursor({ cursor, type, connection }: ClaimedJob): unknown {
  if (cursor !== undefined || type === 'full') return cursor;
  return syncOf(connection.metadata)['cursor'] ?? undefined;
}

/** The same stored value will not fit the next time either, so it is a permanent failure. */
async function fitting(
  schema: Connector['cursorSchema'],
  value: unknown,
  what: string,
  remedy: string,
): Promise<unknown> {
  if (!schema) return value;
  const checked = await check(schema, value);
  // Schemas may say it in whole sentences.
  const problem = checked.problem?.replace(/\.$/, '');
  if (problem) throw new PermanentError(`${what} does not fit the connector's schema: ${problem}. ${remedy}`);
  return checked.value;
}
