import { LRUCache } from 'lru-cache';

export interface LoginThrottle {
  waitSeconds(address: string): number;
  recordFailure(address: string): void;
}

const maxFailures = 20;
const windowMs = 60_000;
/** Evicts the address that failed longest ago. */
const maxAddresses = 10_000;

export function createLoginThrottle(monotonicMs: () => number): LoginThrottle {
  const failures = new LRUCache<string, { count: number; untilMs: number }>({ max: maxAddresses });
  const current = (address: string) => {
    const entry = failures.peek(address);
    return entry && entry.untilMs > monotonicMs() ? entry : undefined;
  };
  return {
    waitSeconds(address) {
      const entry = current(address);
      return entry && entry.count >= maxFailures ? Math.ceil((entry.untilMs - monotonicMs()) / 1000) : 0;
    },
    recordFailure(address) {
      const entry = current(address) ?? { count: 0, untilMs: monotonicMs() + windowMs };
      entry.count++;
      failures.set(address, entry);
    },
  };
}
