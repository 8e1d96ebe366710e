import { createHash } from 'node:crypto';
import type { Access, Identity } from '../access.ts';
import { systemPorts } from '../ports.ts';
import { createAttempts } from './attempts.ts';
import { Problem } from './problem.ts';

/** Who is behind a secret, without asking the database on every request. */
export interface Credentials {
  /** Undefined: unknown, revoked or expired. Refuses to look when this address was wrong too often. */
  identify(kind: SecretKind, secret: string, address: string): Promise<Identity | undefined>;
  /** Looks again at once, for everybody: something was revoked. */
  forget(): void;
}

export type SecretKind = 'key' | 'session';

/** How long a revoked key may still work in another process than the one that revoked it. */
const freshMs = 3000;
const mostKnown = 5000;
/** What was wrong stays wrong: the same again is neither looked up nor counted as another guess. */
const wrongMs = 60_000;
const longestSecret = 500;

export function createCredentials(access: Access, nowMs = systemPorts.now): Credentials {
  const attempts = createAttempts(nowMs);
  /** By digest, so that no secret stays in memory. In the order of last use. */
  const known = new Map<string, { identity: Identity; freshUntilMs: number }>();
  const wrong = new Map<string, number>();

  const look: Record<SecretKind, (secret: string) => Promise<Identity | undefined>> = {
    key: async (key) => (key.startsWith('syn_') ? access.authenticate(key) : undefined),
    session: (token) => access.session(token),
  };

  return {
    async identify(kind, secret, address) {
      const digest = createHash('sha256').update(`${kind} ${secret}`).digest('base64');
      const entry = known.get(digest);
      if (entry && entry.freshUntilMs > nowMs()) return entry.identity;

      if ((wrong.get(digest) ?? 0) > nowMs()) return undefined;

      // One who was right before is let in, whoever else guesses from the same address (a proxy's, say).
      const waitSeconds = entry ? 0 : attempts.waitSeconds(address);
      if (waitSeconds > 0)
        throw new Problem('TOO_MANY', 'There were too many wrong keys from this address.', {
          headers: { 'retry-after': String(waitSeconds) },
        });
      const isPossible = secret.length <= longestSecret && !secret.includes('\0');
      const identity = isPossible ? await look[kind](secret) : undefined;
      known.delete(digest);
      if (!identity) {
        attempts.failed(address);
        wrong.delete(digest);
        wrong.set(digest, nowMs() + wrongMs);
        forgetOldest(wrong);
        return undefined;
      }
      known.set(digest, { identity, freshUntilMs: nowMs() + freshMs });
      forgetOldest(known);
      return identity;
    },

    forget() {
      for (const entry of known.values()) entry.freshUntilMs = 0;
    },
  };
}

function forgetOldest(entries: Map<string, unknown>): void {
  const [oldest] = entries.keys();
  if (entries.size > mostKnown && oldest !== undefined) entries.delete(oldest);
}
