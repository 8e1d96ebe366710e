import type { Config } from '../config/settings.ts';
import { type Credential, type CredentialHandle, noCredential } from '../contract/credential.ts';
import { PermanentError, TransientError, UnauthorizedError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { readSealed, replaceSecret, type SealedRow } from '../store/credentials.ts';
import {
  createRefresher,
  credentialGone,
  lockPatienceMs,
  meansOf,
  type RefreshContext,
  refusedError,
} from './refresh.ts';
import { checkedFields, contextOf, type Opened, openSecret, toCredential } from './secret.ts';

interface HandlesContext extends Omit<RefreshContext, 'poolSize'> {
  config: Config['database'];
}

/** Ahead of its end a token is renewed by this much, or by a tenth of its life where that is less. */
const aheadMs = 5 * 60 * 1000;

/** Gives runs their connections' credentials. */
export function createCredentialHandles(
  context: HandlesContext,
): (job: ClaimedJob, abortSignal: AbortSignal) => CredentialHandle {
  const { db, ports, vault, connectors, config } = context;
  const refresher = createRefresher({ ...context, poolSize: config.poolSize });

  /** One that can be used now, or an error that says why there is none. */
  async function usable(opened: Opened): Promise<Opened> {
    const { row } = opened;
    if (row.refused_at) throw refusedError(row.refused_reason);
    const nowMs = ports.now();
    const endMs = endMsOf(opened);
    if (nowMs >= endMs) {
      meansOf(opened, connectors);
      return refresher.anew(opened);
    }
    if (nowMs < endMs - marginMs(opened, endMs) || !canRenew(opened)) return opened;
    return (await refresher.ahead(opened)) ?? opened;
  }

  function canRenew(opened: Opened): boolean {
    const { row, secret } = opened;
    const isRenewable = secret.type === 'oauth2' && secret.refreshToken !== undefined;
    return isRenewable && connectors.get(row.provider_slug)?.oauth2 !== undefined;
  }

  return (job, abortSignal) => {
    const { credentialId: id } = job.connection;
    const { tenantId } = job;
    let known: Promise<Opened> | undefined;

    async function read(): Promise<Opened> {
      if (id === undefined) throw new UnauthorizedError(noCredential);
      const row = await readSealed(db, { tenantId, id });
      if (!row) throw credentialGone();
      return openSecret(vault, row);
    }

    /** Remembered, so that a run reads it once; not where it failed, since the next try may find more. */
    function keep(opening: Promise<Opened>): Promise<Opened> {
      known = opening;
      opening.catch(() => {
        if (known === opening) known = undefined;
      });
      return opening;
    }

    async function current(): Promise<Credential> {
      const remembered = known && (await known);
      // One that has ended meanwhile may have been replaced, also where it cannot be renewed.
      const isEnded = remembered && ports.now() >= endMsOf(remembered);
      const held = remembered && !isEnded ? remembered : await keep(read());
      const good = await usable(held);
      if (good !== held) await keep(Promise.resolve(good));
      return toCredential(good);
    }

    async function another(refused: Credential): Promise<Credential> {
      const held = await keep(read());
      if (held.row.refused_at) throw refusedError(held.row.refused_reason);
      if (held.row.generation > refused.generation) return current();
      meansOf(held, connectors);
      return toCredential(await keep(refresher.anew(held)));
    }

    async function store(fields: Record<string, unknown>): Promise<void> {
      if (id === undefined) throw new UnauthorizedError(noCredential);
      const checked = checkedFields(fields);
      const held = known?.catch(() => undefined);
      await db.transaction(
        async (tx) => {
          const row = await readSealed(tx, { tenantId, id }, 'FOR NO KEY UPDATE');
          if (!row) throw credentialGone();
          if (isOlder(await held, row)) throw credentialReplaced();
          if (row.kind !== 'custom')
            throw new PermanentError(`save is for custom credentials; this one is of kind ${row.kind}.`);
          const sealed = vault.seal(contextOf({ tenantId, id }), { type: 'custom', fields: checked });
          const now = new Date(ports.now());
          await replaceSecret(tx, now, { id, kind: 'custom', expiresAt: null, ...sealed });
        },
        { lockTimeoutMs: lockPatienceMs },
      );
      known = undefined;
    }

    return {
      id,
      get: () => unlessAborted(current(), abortSignal),
      renew: (refused) => unlessAborted(another(refused), abortSignal),
      save: (fields) => unlessAborted(store(fields), abortSignal),
    };
  };
}

const isOlder = (held: Opened | undefined, { generation }: SealedRow) =>
  held !== undefined && held.row.generation < generation;

/** What this run would write belongs to what there was before. */
const credentialReplaced = () => new TransientError('The credential was replaced while the run used it.');

const endMsOf = ({ row }: Opened) => row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY;

/** How long a token lives is known from when it came: by a renewal, or from outside. */
function marginMs({ row }: Opened, endMs: number): number {
  const sinceMs = (row.refreshed_at ?? row.updated_at).getTime();
  return Math.min(aheadMs, Math.max(0, endMs - sinceMs) / 10);
}

/**
 * Only the waiting ends with the run. A renewal goes on: others may wait for it too, and tokens that the provider has
 * handed out would be lost.
 */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
