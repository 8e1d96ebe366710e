import { createHash } from 'node:crypto';
import type { Access, Identity } from '../api/index.ts';
import { systemPorts } from '../platform/ports.ts';
import { createSemaphore } from '../platform/semaphore.ts';
import { createAttempts } from './login-throttle.ts';
import { Problem } from './problem.ts';

/** Who is behind a secret, without asking the database on every request. */
export interface Credentials {
  /** Undefined: unknown, revoked or expired. Refuses to look when this address was wrong too often. */
  identify(kind: SecretKind, secret: string, address: string): Promise<Identity | undefined>;
  /** Looks again at once, for everybody: something was revoked. */
  forget(): void;
}

export type SecretKind = 'key' | 'session';

/**
 * How long a revoked key may still work in another process than the one that revoked it. Monotonic time: a wall clock that
 * steps back would keep the key alive for as long as the step.
 */
const freshMs = 3000;
const maxKnown = 5000;
/** What was wrong stays wrong: the same again is neither looked up nor counted as another guess. */
const wrongMs = 60_000;
const maxSecret = 500;
/** Look-ups of secrets that are not known to be right, in parallel: few, so that they leave database connections to callers. */
const maxStrangers = 1;
const maxStrangersWaiting = 200;

const tooManyStrangers = () =>
  new Problem('TOO_MANY', 'Too many keys are being checked.', {
    status: 503,
    headers: { 'retry-after': '2' },
  });

export function createCredentials(access: Access, monotonicMs = systemPorts.monotonicMs): Credentials {
  const attempts = createAttempts(monotonicMs);
  /** By digest, so that no secret stays in memory. In the order of last use. */
  const known = new Map<string, { identity: Identity; freshUntilMs: number }>();
  const wrong = new Map<string, number>();

  const look: Record<SecretKind, (secret: string) => Promise<Identity | undefined>> = {
    key: async (key) => (key.startsWith('syn_') ? access.authenticate(key) : undefined),
    session: (token) => access.session(token),
  };

  const lookups = new Map<string, Promise<Identity | undefined>>();
  /** Counts calls of `forget`. A look-up that began before one may have read the row before the revocation committed. */
  let generation = 0;
  const strangers = createSemaphore(maxStrangers, {
    maxWaiting: maxStrangersWaiting,
    refusal: tooManyStrangers,
  });

  /** Requests that come with the same secret meanwhile share the look-up. */
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
    const isPossible = secret.length <= maxSecret && !secret.includes('\0');
    const begunIn = generation;
    const identity = isPossible ? await look[kind](secret) : undefined;
    if (begunIn !== generation) return identity;
    known.delete(digest);
    if (identity) {
      known.set(digest, { identity, freshUntilMs: monotonicMs() + freshMs });
      forgetOldest(known);
    } else {
      wrong.delete(digest);
      wrong.set(digest, monotonicMs() + wrongMs);
      forgetOldest(wrong);
    }
    return identity;
  }

  function requirePatience(address: string): void {
    const waitSeconds = attempts.waitSeconds(address);
    if (waitSeconds > 0)
      throw new Problem('TOO_MANY', 'There were too many wrong keys from this address.', {
        headers: { 'retry-after': String(waitSeconds) },
      });
  }

  return {
    async identify(kind, secret, address) {
      const digest = createHash('sha256').update(`${kind} ${secret}`).digest('base64');
      const entry = known.get(digest);
      if (entry && entry.freshUntilMs > monotonicMs()) return entry.identity;
      if ((wrong.get(digest) ?? 0) > monotonicMs()) return undefined;
      // A key that was valid before bypasses the lock-out of its address, which may be a proxy's, and the queue of unknown keys.
      if (entry) return lookUp(digest, () => find(kind, secret, digest));
      requirePatience(address);
      return lookUp(digest, () =>
        strangers.run(async () => {
          // Others from there may have been wrong while this one waited.
          requirePatience(address);
          const identity = await find(kind, secret, digest);
          if (!identity) attempts.failed(address);
          return identity;
        }, address),
      );
    },

    forget() {
      generation++;
      lookups.clear();
      for (const entry of known.values()) entry.freshUntilMs = 0;
    },
  };
}

function forgetOldest(entries: Map<string, unknown>): void {
  const [oldest] = entries.keys();
  if (entries.size > maxKnown && oldest !== undefined) entries.delete(oldest);
}
