import type { Logger } from 'pino';
import type { Connector } from '../contract/connector.ts';
import type { OAuth2 } from '../contract/credential.ts';
import { TransientError, UnauthorizedError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { retry } from '../platform/retry.ts';
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
  poolSize: number;
  /** The database is closing. */
  closing: AbortSignal;
}

export interface Refresher {
  /** Undefined if another refresh runs or this one fails: the token is still valid. */
  refreshEarly(held: Opened): Promise<Opened | undefined>;
  /** Throws UnauthorizedError if refused. */
  refreshNow(held: Opened): Promise<Opened>;
}

/** Each holds a connection during its request. */
const maxParallel = 4;
/** Exceeds a token request: waiters get the new tokens. */
export const refreshLockTimeoutMs = 30_000;
/** Lock wait plus request; then the server frees the row. */
const transactionTimeoutMs = 60_000;
/** A slow endpoint must not delay every request of a run. */
const earlyPauseMs = 30_000;
/** Cleared when full: one extra try each. */
const maxPaused = 10_000;
/** 50 s, enough for a failover: unstored tokens are lost. */
const storeAttempts = 9;
const storePauseMs = (failures: number) => 100 * 2 ** failures;

type Renewed = { opened: Opened } | { refused: string } | undefined;

/** Single flight: in memory, and by row lock across processes. */
export function createRefresher(context: RefreshContext): Refresher {
  const { db, ports, vault, log, connectors, poolSize, closing } = context;
  const limit = Math.min(maxParallel, sharesOfPool(poolSize).renewals);
  const processSlots = createSemaphore(limit);
  const providerSlots = new Map<string, Semaphore>();
  const inFlight = new Map<string, Promise<Renewed>>();
  /** By credential; monotonic. */
  const pausedUntilMs = new Map<string, number>();

  function singleFlight(
    held: Opened,
    lock: 'FOR NO KEY UPDATE' | 'FOR NO KEY UPDATE SKIP LOCKED',
  ): Promise<Renewed> {
    const { id } = held.row;
    const renewing = providerSlotsOf(held)
      .run(() => processSlots.run(() => renewLocked(held, lock)))
      .finally(() => inFlight.delete(id));
    inFlight.set(id, renewing);
    return renewing;
  }

  /** A hanging provider must not block others. */
  function providerSlotsOf({ row: { provider_slug: provider } }: Opened): Semaphore {
    const slots = providerSlots.get(provider) ?? createSemaphore(Math.max(1, limit - 1));
    providerSlots.set(provider, slots);
    return slots;
  }

  async function renewLocked(held: Opened, lock: Parameters<typeof singleFlight>[1]): Promise<Renewed> {
    const { id, tenant_id: tenantId } = held.row;
    let issued: IssuedTokens | undefined;
    const transaction = db.transaction(
      async (tx): Promise<Renewed> => {
        // Answered: the old refresh token may be invalid.
        if (issued) return { opened: await store(tx, issued) };
        const row = await readSealed(tx, { tenantId, id }, lock);
        if (!row) return undefined;
        if (row.refused_at) return { refused: row.refused_reason ?? 'it was refused' };
        const stored = openSecret(vault, row);
        if (isNewer(stored, held)) return { opened: stored };
        const { oauth2, refreshToken } = refreshGrantOf(stored, connectors);
        const answer = await requestTokens(ports, oauth2, {
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        });
        if ('refused' in answer) return refuse(tx, row, answer.refused);
        // Without a new one, the old one stays valid.
        issued = { row, tokens: { refreshToken, ...scopeOf(stored), ...answer.tokens } };
        return { opened: await store(tx, issued) };
      },
      { timeoutMs: transactionTimeoutMs, lockTimeoutMs: refreshLockTimeoutMs },
    );
    return transaction.catch((error: unknown) => {
      if (issued) return retryStore(issued, error);
      if (isLockTimeout(error))
        throw new TransientError(
          `Another process has been refreshing the credential for ${refreshLockTimeoutMs / 1000} s.`,
        );
      throw error;
    });
  }

  async function refuse(tx: Queryable, row: SealedRow, reason: string): Promise<Renewed> {
    const now = new Date(ports.now());
    await markRefused(tx, now, row.id, reason);
    const subject = { tenantId: row.tenant_id, connectionId: null, jobId: null };
    const detail = { credential: row.id, provider: row.provider_slug };
    const event = { ...subject, id: ports.newId(), kind: 'credential.refused' as const, detail };
    await insertEvents(tx, now, [{ ...event, actor: 'syncline', keyId: null, reason }]);
    log.warn({ credentialId: row.id }, `token refresh refused by ${row.provider_slug}: ${reason}`);
    return { refused: reason };
  }

  async function store(tx: Queryable, { row, tokens }: IssuedTokens): Promise<Opened> {
    const { id, tenant_id: tenantId, generation } = row;
    const sealed = vault.seal(contextOf({ tenantId, id }), tokens);
    const now = new Date(ports.now());
    const stored = await storeRenewed(tx, now, { id, generation, expiresAt: expiryOf(tokens), ...sealed });
    if (stored) return { row: stored, secret: tokens };
    // Committed unacknowledged, or replaced.
    const current = await readSealed(tx, { tenantId, id });
    if (!current) throw credentialGone();
    return openSecret(vault, current);
  }

  /** The old refresh token may be invalid. */
  async function retryStore(issued: IssuedTokens, cause: unknown): Promise<Renewed> {
    const attempt = async () => ({ opened: await db.transaction((tx) => store(tx, issued)) });
    return retry(attempt, {
      ports,
      attempts: storeAttempts,
      shouldRetry: () => true,
      delayMs: storePauseMs,
      signal: closing,
    })
      .catch((error: unknown) => {
        // Shutdown: the last chance.
        if (closing.aborted) return attempt();
        throw error;
      })
      .catch(() => {
        log.error({ credentialId: issued.row.id }, 'refreshed tokens could not be stored and are lost');
        throw cause;
      });
  }

  return {
    async refreshEarly(held) {
      const { id } = held.row;
      if ((pausedUntilMs.get(id) ?? 0) > ports.monotonicMs()) return undefined;
      if (inFlight.has(id) || processSlots.isFull() || providerSlotsOf(held).isFull()) return undefined;
      const renewed = await singleFlight(held, 'FOR NO KEY UPDATE SKIP LOCKED').catch((error: unknown) => {
        log.debug({ credentialId: id }, `early refresh failed: ${messageOf(error)}`);
        if (pausedUntilMs.size >= maxPaused) pausedUntilMs.clear();
        pausedUntilMs.set(id, ports.monotonicMs() + earlyPauseMs);
        return undefined;
      });
      return renewed && outcomeOf(renewed);
    },

    async refreshNow(held) {
      for (let joined = inFlight.get(held.row.id); joined; joined = inFlight.get(held.row.id)) {
        const renewed = await joined;
        // It may have read the generation held here.
        const isConclusive = renewed && !('opened' in renewed && !isNewer(renewed.opened, held));
        if (isConclusive) return outcomeOf(renewed);
      }
      const renewed = await singleFlight(held, 'FOR NO KEY UPDATE');
      if (!renewed) throw credentialGone();
      return outcomeOf(renewed);
    },
  };
}

interface IssuedTokens {
  row: SealedRow;
  tokens: OAuth2Secret;
}

function outcomeOf(renewed: NonNullable<Renewed>): Opened {
  if ('refused' in renewed) throw refusedError(renewed.refused);
  return renewed.opened;
}

/** The next try reads the current credential. */
export const credentialGone = () => new TransientError('The credential was deleted.');

export const refusedError = (reason: string | null) =>
  new UnauthorizedError(`The provider refused to refresh the access token: ${reason ?? 'no reason stated.'}`);

/** Throws UnauthorizedError if either is missing. */
export function refreshGrantOf(
  { row, secret }: Opened,
  connectors: ReadonlyMap<string, Connector>,
): { oauth2: OAuth2; refreshToken: string } {
  const oauth2 = connectors.get(row.provider_slug)?.oauth2;
  if (secret.type !== 'oauth2') throw new UnauthorizedError('The provider rejected the credential.');
  if (secret.refreshToken === undefined)
    throw new UnauthorizedError('The access token is no longer valid, and there is no refresh token.');
  if (!oauth2)
    throw new UnauthorizedError(
      `The access token is no longer valid, and the connector for "${row.provider_slug}" does not define ` +
        'OAuth.',
    );
  return { oauth2, refreshToken: secret.refreshToken };
}

const isNewer = (a: Opened, b: Opened) => a.row.generation > b.row.generation;
const scopeOf = ({ secret }: Opened) =>
  secret.type === 'oauth2' && secret.scope !== undefined ? { scope: secret.scope } : {};
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
