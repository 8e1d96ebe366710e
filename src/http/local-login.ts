import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** One-time tokens for the service's account. */
export interface LocalLogin {
  /** Authorizes token requests; only that account can read its file. */
  readonly secret: string;
  isSecret(candidate: string): boolean;
  issue(): string;
  redeem(token: string): boolean;
}

export const loginTokenSeconds = 15 * 60;
/** The oldest is dropped. */
const maxTokens = 20;

export function createLocalLogin(monotonicMs: () => number): LocalLogin {
  const secret = randomBytes(32).toString('base64url');
  /** By digest: a token lookup leaks its prefix through timing. */
  const expiries = new Map<string, number>();
  return {
    secret,
    // Digests hide the length.
    isSecret: (candidate) => timingSafeEqual(digest(candidate), digest(secret)),
    issue() {
      const token = randomBytes(32).toString('base64url');
      const [oldest] = expiries.keys();
      if (oldest !== undefined && expiries.size >= maxTokens) expiries.delete(oldest);
      expiries.set(digest(token).toString('hex'), monotonicMs() + loginTokenSeconds * 1000);
      return token;
    },
    redeem(candidate) {
      const key = digest(candidate).toString('hex');
      const expiresAtMs = expiries.get(key);
      expiries.delete(key);
      return expiresAtMs !== undefined && monotonicMs() <= expiresAtMs;
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
