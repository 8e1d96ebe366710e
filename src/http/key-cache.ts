import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Access, Identity } from '../index.ts';
import { createSemaphore } from '../platform/semaphore.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { Problem } from './problem.ts';

/** Saves a query per request. */
export interface KeyCache {
  /** Undefined: unknown, revoked or expired. 429 after too many failures. */
  identify(kind: SecretKind, secret: string, address: string): Promise<Identity | undefined>;
  invalidate(): void;
}

export type SecretKind = 'key' | 'session';

/** How long a revoked key works in other processes. Monotonic: a clock set back would extend it. */
const freshMs = 3000;
const maxEntries = 5000;
/** A repeated wrong secret is neither looked up nor counted. */
const wrongMs = 60_000;
const maxSecretLength = 500;
/** Keeps database connections for known callers. */
const maxUnverifiedLookups = 1;
const maxUnverifiedWaiting = 200;

const tooManyLookups = () =>
  new Problem('TOO_MANY', 'Too many unknown keys are being checked.', {
    status: 503,
    headers: { 'retry-after': '2' },
  });

export function createKeyCache(access: Access, monotonicMs: () => number): KeyCache {
  const throttle = createLoginThrottle(monotonicMs);
  /** By digest: no secret stays in memory. Expired entries prove an earlier valid key. */
  const known = new LRUCache<string, { identity: Identity; freshUntilMs: number }>({ max: maxEntries });
  const wrong = new LRUCache<string, number>({ max: maxEntries });

  const query: Record<SecretKind, (secret: string) => Promise<Identity | undefined>> = {
    key: async (key) => (key.startsWith('syn_') ? access.authenticate(key) : undefined),
    session: (token) => access.session(token),
  };

  const lookups = new Map<string, Promise<Identity | undefined>>();
  /** An older lookup may have read before the revocation committed. */
  let generation = 0;
  const unverified = createSemaphore(maxUnverifiedLookups, {
    maxWaiting: maxUnverifiedWaiting,
    refusal: tooManyLookups,
  });

  /** Concurrent requests share a lookup. */
  function lookUp(digest: string, work: () => Promise<Identity | undefined>): Promise<Identity | undefined> {
    const pending = lookups.get(digest);
    if (pending) return pending;
    const lookup = work().finally(() => {
      if (lookups.get(digest) === lookup) lookups.delete(digest);
    });
    lookups.set(digest, lookup);
    return lookup;
  }

  async function find(kind: SecretKind, secret: string, digest: string): Promise<Identity | undefined> {
    const isPossible = secret.length <= maxSecretLength && !secret.includes('\0');
    const startGeneration = generation;
    const identity = isPossible ? await query[kind](secret) : undefined;
    if (startGeneration !== generation) return identity;
    if (identity) known.set(digest, { identity, freshUntilMs: monotonicMs() + freshMs });
    else {
      known.delete(digest);
      wrong.set(digest, monotonicMs() + wrongMs);
    }
    return identity;
  }

  function requireNotThrottled(address: string): void {
    const waitSeconds = throttle.waitSeconds(address);
    if (waitSeconds > 0)
      throw new Problem('TOO_MANY', 'Too many wrong keys from this address.', {
        headers: { 'retry-after': String(waitSeconds) },
      });
  }

  return {
    async identify(kind, secret, address) {
      const digest = createHash('sha256').update(`${kind} ${secret}`).digest('base64');
      const entry = known.get(digest);
      if (entry && entry.freshUntilMs > monotonicMs()) return entry.identity;
      if ((wrong.get(digest) ?? 0) > monotonicMs()) return undefined;
      // Known keys bypass queue and throttle: the address may be a shared proxy.
      if (entry) return lookUp(digest, () => find(kind, secret, digest));
      requireNotThrottled(address);
      return lookUp(digest, () =>
        unverified.run(async () => {
          // Others of this address may have failed.
          requireNotThrottled(address);
          const identity = await find(kind, secret, digest);
          if (!identity) throttle.recordFailure(address);
          return identity;
        }, address),
      );
    },

    invalidate() {
      generation++;
      lookups.clear();
      for (const entry of known.values()) entry.freshUntilMs = 0;
    },
  };
}
