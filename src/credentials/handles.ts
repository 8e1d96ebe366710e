import type { Config } from '../config/settings.ts';
import { type Credential, type CredentialHandle, noCredential } from '../contract/credential.ts';
import { PermanentError, TransientError, UnauthorizedError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { readSealed, replaceSecret, type SealedRow } from '../store/credentials.ts';
import {
  createRefresher,
  credentialGone,
  type RefreshContext,
  refreshGrantOf,
  refreshLockTimeoutMs,
  refusedError,
} from './refresh.ts';
import { checkedFields, contextOf, type Opened, openSecret, toCredential } from './secret.ts';

interface HandlesContext extends Omit<RefreshContext, 'poolSize'> {
  config: Config['database'];
}

/** At most a tenth of the token's life. */
const maxMarginMs = 5 * 60 * 1000;

export function createCredentialHandles(
  context: HandlesContext,
): (job: ClaimedJob, abortSignal: AbortSignal) => CredentialHandle {
  const { db, ports, vault, connectors, config } = context;
  const refresher = createRefresher({ ...context, poolSize: config.poolSize });

  async function ensureFresh(opened: Opened): Promise<Opened> {
    const { row } = opened;
    if (row.refused_at) throw refusedError(row.refused_reason);
    const nowMs = ports.now();
    const endMs = endMsOf(opened);
    if (nowMs >= endMs) {
      refreshGrantOf(opened, connectors);
      return refresher.refreshNow(opened);
    }
    if (nowMs < endMs - marginMs(opened, endMs) || !canRefresh(opened)) return opened;
    return (await refresher.refreshEarly(opened)) ?? opened;
  }

  function canRefresh(opened: Opened): boolean {
    const { row, secret } = opened;
    const hasRefreshToken = secret.type === 'oauth2' && secret.refreshToken !== undefined;
    return hasRefreshToken && connectors.get(row.provider_slug)?.oauth2 !== undefined;
  }

  return (job, abortSignal) => {
    const { credentialId: id } = job.connection;
    const { tenantId } = job;
    let cached: Promise<Opened> | undefined;

    async function read(): Promise<Opened> {
      if (id === undefined) throw new UnauthorizedError(noCredential);
      const row = await readSealed(db, { tenantId, id });
      if (!row) throw credentialGone();
      return openSecret(vault, row);
    }

    /** Drops a failed read. */
    function remember(opening: Promise<Opened>): Promise<Opened> {
      cached = opening;
      opening.catch(() => {
        if (cached === opening) cached = undefined;
      });
      return opening;
    }

    async function current(): Promise<Credential> {
      const remembered = cached && (await cached);
      // It may have been replaced.
      const isExpired = remembered && ports.now() >= endMsOf(remembered);
      const held = remembered && !isExpired ? remembered : await remember(read());
      const fresh = await ensureFresh(held);
      if (fresh !== held) await remember(Promise.resolve(fresh));
      return toCredential(fresh);
    }

    async function renewAfterRejection(refused: Credential): Promise<Credential> {
      const held = await remember(read());
      if (held.row.refused_at) throw refusedError(held.row.refused_reason);
      if (held.row.generation > refused.generation) return current();
      refreshGrantOf(held, connectors);
      return toCredential(await remember(refresher.refreshNow(held)));
    }

    async function store(fields: Record<string, unknown>): Promise<void> {
      if (id === undefined) throw new UnauthorizedError(noCredential);
      const checked = checkedFields(fields);
      const held = cached?.catch(() => undefined);
      await db.transaction(
        async (tx) => {
          const row = await readSealed(tx, { tenantId, id }, 'FOR NO KEY UPDATE');
          if (!row) throw credentialGone();
          if (isOlder(await held, row)) throw credentialReplaced();
          if (row.kind !== 'custom')
            throw new PermanentError(`save() requires a custom credential; this one is of kind ${row.kind}.`);
          const sealed = vault.seal(contextOf({ tenantId, id }), { type: 'custom', fields: checked });
          const now = new Date(ports.now());
          await replaceSecret(tx, now, { id, kind: 'custom', expiresAt: null, ...sealed });
        },
        { lockTimeoutMs: refreshLockTimeoutMs },
      );
      cached = undefined;
    }

    return {
      id,
      get: () => unlessAborted(current(), abortSignal),
      renew: (refused) => unlessAborted(renewAfterRejection(refused), abortSignal),
      save: (fields) => unlessAborted(store(fields), abortSignal),
    };
  };
}

const isOlder = (held: Opened | undefined, { generation }: SealedRow) =>
  held !== undefined && held.row.generation < generation;

const credentialReplaced = () => new TransientError('The credential was replaced while the run used it.');

const endMsOf = ({ row }: Opened) => row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY;

/** Since storage or refresh. */
function marginMs({ row }: Opened, endMs: number): number {
  const sinceMs = (row.refreshed_at ?? row.updated_at).getTime();
  return Math.min(maxMarginMs, Math.max(0, endMs - sinceMs) / 10);
}

/** Ends only the wait: other runs await the refresh, and issued tokens must be stored. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
