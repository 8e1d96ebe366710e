/** Counts wrong credentials by address, so that guessing is slow and does not cost the database a lookup each. */
export interface Attempts {
  /** How many seconds this address has to wait; 0 where it need not. */
  waitSeconds(address: string): number;
  failed(address: string): void;
}

const maxFailures = 20;
const windowMs = 60_000;
/** Beyond it the oldest are forgotten: memory is bounded, whoever asks from wherever. */
const maxAddresses = 10_000;

export function createAttempts(monotonicMs: () => number): Attempts {
  const failures = new Map<string, { count: number; untilMs: number }>();
  const current = (address: string) => {
    const entry = failures.get(address);
    return entry && entry.untilMs > monotonicMs() ? entry : undefined;
  };
  return {
    waitSeconds(address) {
      const entry = current(address);
      return entry && entry.count >= maxFailures ? Math.ceil((entry.untilMs - monotonicMs()) / 1000) : 0;
    },
    failed(address) {
      const entry = current(address) ?? { count: 0, untilMs: monotonicMs() + windowMs };
      entry.count++;
      failures.delete(address);
      failures.set(address, entry);
      const [oldest] = failures.keys();
      if (failures.size > maxAddresses && oldest !== undefined) failures.delete(oldest);
    },
  };
}
