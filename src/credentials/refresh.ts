import type { Logger } from 'pino';
import type { Connector } from '../contract/connector.ts';
import type { OAuth2 } from '../contract/credential.ts';
import { TransientError, UnauthorizedError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { createSemaphore, type Semaphore, sharesOfPool } from '../platform/semaphore.ts';
import { markRefused, readSealed, type SealedRow, storeRenewed } from '../store/credentials.ts';
import type { Database, Queryable } from '../store/database.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { insertEvents } from '../store/events.ts';
import { contextOf, expiryOf, type Opened, openSecret } from './secret.ts';
import { type OAuth2Secret, requestTokens } from './token-request.ts';
import type { Vault } from './vault.ts';

export interface RefreshContext {
  db: Database;
  ports: Ports;
  vault: Vault;
  log: Logger;
  connectors: ReadonlyMap<string, Connector>;
  /** Database connections of this process. */
  poolSize: number;
}

export interface Refresher {
  /** Renews it unless somebody else is about to: then, or where it did not work, undefined. The old one is still good. */
  ahead(held: Opened): Promise<Opened | undefined>;
  /** A newer one than `held`, whoever renews it. Throws UnauthorizedError where there can be none. */
  anew(held: Opened): Promise<Opened>;
}

/** Each holds a database connection while the provider is asked: some must be left for everybody else. */
const maxAtOnce = 4;
/** Longer than a request for tokens may take: whoever waits for the row gets what the other was given. */
export const lockPatienceMs = 30_000;
/** Longer than both; the server ends what takes longer, and lets go of the row. */
const transactionMs = 60_000;
/** A token that is still good must not cost every request of a run the time in which an endpoint does not answer. */
const quietMs = 30_000;
/** Forgotten together when there are more; they are then tried once more each. */
const maxQuiet = 10_000;
/** How often storing is tried, over most of a minute, in which another server takes over: tokens that were handed out and not kept are lost for everybody. */
const storeAttempts = 8;

type Renewed = { opened: Opened } | { refused: string } | undefined;

/** Renews OAuth 2 tokens: once for everybody, in this process and in all others. */
export function createRefresher(context: RefreshContext): Refresher {
  const { db, ports, vault, log, connectors, poolSize } = context;
  const most = Math.min(maxAtOnce, sharesOfPool(poolSize).renewals);
  const gate = createSemaphore(most);
  const gates = new Map<string, Semaphore>();
  const underWay = new Map<string, Promise<Renewed>>();
  /** Those that were not renewed ahead of their end, and until when (monotonic) that is not tried again. */
  const quietUntilMs = new Map<string, number>();

  /** One for each credential; others that need it wait for the same. */
  function once(held: Opened, lock: 'FOR NO KEY UPDATE' | 'FOR NO KEY UPDATE SKIP LOCKED'): Promise<Renewed> {
    const { id } = held.row;
    const renewing = gateOf(held)
      .run(() => gate.run(() => renewLocked(held, lock)))
      .finally(() => underWay.delete(id));
    underWay.set(id, renewing);
    return renewing;
  }

  /** All places but one: a provider that does not answer must not keep those of all others from being renewed. */
  function gateOf({ row: { provider_slug: provider } }: Opened): Semaphore {
    const known = gates.get(provider) ?? createSemaphore(Math.max(1, most - 1));
    // Only providers that have a connector come here, so there are few.
    gates.set(provider, known);
    return known;
  }

  async function renewLocked(held: Opened, lock: Parameters<typeof once>[1]): Promise<Renewed> {
    const { id, tenant_id: tenantId } = held.row;
    let given: Given | undefined;
    const transaction = db.transaction(
      async (tx): Promise<Renewed> => {
        // The first try lost a race after the provider had answered: the old refresh token may be worth nothing now.
        if (given) return { opened: await store(tx, given) };
        const row = await readSealed(tx, { tenantId, id }, lock);
        if (!row) return undefined;
        if (row.refused_at) return { refused: row.refused_reason ?? 'it was refused' };
        const stored = openSecret(vault, row);
        if (isNewer(stored, held)) return { opened: stored };
        const { oauth2, refreshToken } = meansOf(stored, connectors);
        const answer = await requestTokens(ports, oauth2, {
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        });
        if ('refused' in answer) return refuse(tx, row, answer.refused);
        // One that is not given anew stays in use.
        given = { row, tokens: { refreshToken, ...scopeOf(stored), ...answer.tokens } };
        return { opened: await store(tx, given) };
      },
      { timeoutMs: transactionMs, lockTimeoutMs: lockPatienceMs },
    );
    return transaction.catch((error: unknown) => {
      if (given) return rescue(given, error);
      if (isLockTimeout(error))
        throw new TransientError('Another process is renewing the credential, and takes too long.');
      throw error;
    });
  }

  async function refuse(tx: Queryable, row: SealedRow, reason: string): Promise<Renewed> {
    const now = new Date(ports.now());
    await markRefused(tx, now, row.id, reason);
    const concerns = { tenantId: row.tenant_id, connectionId: null, jobId: null };
    const detail = { credential: row.id, provider: row.provider_slug };
    const event = { ...concerns, id: ports.newId(), kind: 'credential.refused' as const, detail };
    await insertEvents(tx, now, [{ ...event, actor: 'syncline', keyId: null, reason }]);
    log.warn({ credentialId: row.id }, `a credential for ${row.provider_slug} was not renewed: ${reason}`);
    return { refused: reason };
  }

  async function store(tx: Queryable, { row, tokens }: Given): Promise<Opened> {
    const { id, tenant_id: tenantId, generation } = row;
    const sealed = vault.seal(contextOf({ tenantId, id }), tokens);
    const now = new Date(ports.now());
    const stored = await storeRenewed(tx, now, { id, generation, expiresAt: expiryOf(tokens), ...sealed });
    if (stored) return { row: stored, secret: tokens };
    // The first try was stored, and nobody told us; or somebody replaced it meanwhile.
    const current = await readSealed(tx, { tenantId, id });
    if (!current) throw credentialGone();
    return openSecret(vault, current);
  }

  /** The old refresh token may be worth nothing any more: what came instead is stored as soon as that is possible. */
  async function rescue(given: Given, cause: unknown): Promise<Renewed> {
    for (let attempt = 1; attempt <= storeAttempts; attempt++) {
      await ports.sleep(100 * 2 ** attempt, new AbortController().signal);
      const stored = await db.transaction((tx) => store(tx, given)).catch(() => undefined);
      if (stored) return { opened: stored };
    }
    log.error({ credentialId: given.row.id }, 'renewed tokens could not be stored, and are lost');
    throw cause;
  }

  return {
    async ahead(held) {
      const { id } = held.row;
      if ((quietUntilMs.get(id) ?? 0) > ports.monotonicMs()) return undefined;
      if (underWay.has(id) || gate.isFull() || gateOf(held).isFull()) return undefined;
      const renewed = await once(held, 'FOR NO KEY UPDATE SKIP LOCKED').catch((error: unknown) => {
        log.debug({ credentialId: id }, `not renewed yet: ${messageOf(error)}`);
        if (quietUntilMs.size >= maxQuiet) quietUntilMs.clear();
        quietUntilMs.set(id, ports.monotonicMs() + quietMs);
        return undefined;
      });
      return renewed && outcomeOf(renewed);
    },

    async anew(held) {
      for (let joined = underWay.get(held.row.id); joined; joined = underWay.get(held.row.id)) {
        const renewed = await joined;
        // What that one found may be what is held here already.
        const isNews = renewed && !('opened' in renewed && !isNewer(renewed.opened, held));
        if (isNews) return outcomeOf(renewed);
      }
      const renewed = await once(held, 'FOR NO KEY UPDATE');
      if (!renewed) throw credentialGone();
      return outcomeOf(renewed);
    },
  };
}

interface Given {
  row: SealedRow;
  tokens: OAuth2Secret;
}

function outcomeOf(renewed: NonNullable<Renewed>): Opened {
  if ('refused' in renewed) throw refusedError(renewed.refused);
  return renewed.opened;
}

/** The connection has another one by now, or none: the next try finds out. */
export const credentialGone = () => new TransientError('The credential was deleted.');

export const refusedError = (reason: string | null) =>
  new UnauthorizedError(`The provider does not renew the access: ${reason ?? 'it did not say why.'}`);

/** What a token can be renewed with; none of it, and whoever gave their consent has to do it again. */
export function meansOf(
  { row, secret }: Opened,
  connectors: ReadonlyMap<string, Connector>,
): { oauth2: OAuth2; refreshToken: string } {
  const oauth2 = connectors.get(row.provider_slug)?.oauth2;
  if (secret.type !== 'oauth2') throw new UnauthorizedError('The provider refuses the credential.');
  if (secret.refreshToken === undefined)
    throw new UnauthorizedError('The access token is no longer good, and there is no refresh token.');
  if (!oauth2)
    throw new UnauthorizedError(
      `The access token is no longer good, and the connector for "${row.provider_slug}" does not say how to renew it.`,
    );
  return { oauth2, refreshToken: secret.refreshToken };
}

const isNewer = (one: Opened, than: Opened) => one.row.generation > than.row.generation;
const scopeOf = ({ secret }: Opened) =>
  secret.type === 'oauth2' && secret.scope !== undefined ? { scope: secret.scope } : {};
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
