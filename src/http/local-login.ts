import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A one-time token for the user who started the service. */
export interface LocalLogin {
  readonly token: string;
  /** True once, for the right token. */
  redeem(token: string): boolean;
}

const validMs = 15 * 60 * 1000;

export function createLocalLogin(monotonicMs: () => number): LocalLogin {
  const token = randomBytes(32).toString('base64url');
  const expected = digest(token);
  const expiresAtMs = monotonicMs() + validMs;
  let isUsed = false;
  return {
    token,
    redeem(candidate) {
      // Digests hide the length.
      const isRight = timingSafeEqual(digest(candidate), expected);
      if (!isRight || isUsed || monotonicMs() > expiresAtMs) return false;
      isUsed = true;
      return true;
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
