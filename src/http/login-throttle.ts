import { LRUCache } from 'lru-cache';

export interface LoginThrottle {
  /** 0 if not throttled. */
  waitSeconds(address: string): number;
  recordFailure(address: string): void;
}

const maxFailures = 20;
const windowMs = 60_000;
/** The address that failed longest ago is evicted. */
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
