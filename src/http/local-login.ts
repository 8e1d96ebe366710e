import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { systemPorts } from '../platform/ports.ts';

/** A secret for the person who started the service on their own machine: they need no key to see the dashboard. */
export interface LocalLogin {
  readonly token: string;
  /** Whether the token is right. It is so once. */
  redeem(token: string): boolean;
}

const validMs = 15 * 60 * 1000;

export function createLocalLogin(monotonicMs = systemPorts.monotonicMs): LocalLogin {
  const token = randomBytes(32).toString('base64url');
  const expected = digest(token);
  const expiresAtMs = monotonicMs() + validMs;
  let isUsed = false;
  return {
    token,
    redeem(given) {
      // Digests are compared, so that neither the time taken nor a difference in length tells anything.
      const isRight = timingSafeEqual(digest(given), expected);
      if (!isRight || isUsed || monotonicMs() > expiresAtMs) return false;
      isUsed = true;
      return true;
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
