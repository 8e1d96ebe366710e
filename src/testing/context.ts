import { randomUUID } from 'node:crypto';
import { type Logger, pino } from 'pino';
import type { Budgets } from '../contract/budget.ts';
import type { Clock } from '../contract/clock.ts';
import type { JobType, SyncContext } from '../contract/connector.ts';
import type { Credential, CredentialHandle, Secret } from '../contract/credential.ts';
import { UnauthorizedError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';

export interface ContextOptions {
  provider?: string | undefined;
  connectionId?: string | undefined;
  externalId?: string | undefined;
  config?: unknown;
  metadata?: Record<string, unknown> | undefined;
  /** Plaintext, in memory. */
  credential?: Secret | undefined;
  /** When the provider rejects the credential. Default: renewal fails. */
  renew?: ((refused: Secret) => Secret | Promise<Secret>) | undefined;
  cursor?: unknown;
  type?: JobType | undefined;
  /** Earlier failures of the job. */
  attempts?: number | undefined;
  abortSignal?: AbortSignal | undefined;
  log?: Logger | undefined;
  fetch?: typeof fetch | undefined;
  budgets?: Budgets | undefined;
  /** Such as `sleep`, to skip pauses. */
  clock?: Partial<Clock> | undefined;
}

/** The context of a connector run, without an engine. */
export function memoryContext(options: ContextOptions = {}): SyncContext {
  const { now, monotonicMs, sleep } = systemPorts;
  const clock = { now, monotonicMs, sleep, ...options.clock };
  return {
    connection: {
      id: options.connectionId ?? randomUUID(),
      tenantId: randomUUID(),
      provider: options.provider ?? 'test',
      externalId: options.externalId,
      config: options.config ?? {},
      metadata: options.metadata ?? {},
    },
    cursor: options.cursor,
    job: {
      id: randomUUID(),
      type: options.type ?? 'incremental',
      attempts: options.attempts ?? 0,
      scheduledAt: new Date(clock.now()),
    },
    abortSignal: options.abortSignal ?? new AbortController().signal,
    log: options.log ?? pino({ level: 'silent' }),
    credentials: memoryCredential(options),
    budgets: options.budgets ?? unlimited,
    fetch: options.fetch ?? systemPorts.fetch,
    clock,
  };
}

const unlimited: Budgets = { take: async () => ({ settle: () => {} }), learn: () => {} };

function memoryCredential({ credential, renew }: ContextOptions): CredentialHandle {
  const id = credential && randomUUID();
  let secret = credential;
  let generation = 1;
  const get = async (): Promise<Credential> => {
    if (!secret || !id) throw new UnauthorizedError('The connection has no credential.');
    const common = { id, generation };
    if (secret.type !== 'oauth2') return { ...common, ...secret };
    const expiresAt = secret.expiresAt === undefined ? undefined : new Date(secret.expiresAt);
    return { ...common, type: 'oauth2', accessToken: secret.accessToken, expiresAt };
  };
  return {
    id,
    get,
    renew: async (refused) => {
      if (!secret || !renew) throw new UnauthorizedError('The provider rejected the credential.');
      // A concurrent caller may have renewed it.
      if (refused.generation === generation) {
        secret = await renew(secret);
        generation++;
      }
      return get();
    },
    save: async (fields) => {
      secret = { type: 'custom', fields };
    },
  };
}
