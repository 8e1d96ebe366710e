import type { Ports } from './ports.ts';

const firstRetryMs = 250;
/** Resumes soon after an outage. */
const maxRetryMs = 4000;

/**
 * Half is jitter: processes retry out of step. `failures`: loops count from 0 (125 to 250 ms), `retry` from 1
 * (250 to 500 ms).
 */
export function retryDelayMs(failures: number, random: number): number {
  const fullMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures, 10));
  return fullMs / 2 + (fullMs / 2) * random;
}

export interface RetryOptions {
  ports: Pick<Ports, 'sleep' | 'random'>;
  /** Total calls. */
  attempts: number;
  shouldRetry: (error: unknown) => boolean;
  /** `failures` counts from 1. Default: `retryDelayMs`. */
  delayMs?: (failures: number, random: number) => number;
  onRetry?: (error: unknown, delayMs: number) => void;
  signal: AbortSignal;
}

/** Rejects with the last error. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { ports, attempts, shouldRetry, delayMs = retryDelayMs, onRetry, signal } = options;
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (failures >= attempts || signal.aborted || !shouldRetry(error)) throw error;
      const pauseMs = delayMs(failures, ports.random());
      onRetry?.(error, pauseMs);
      await ports.sleep(pauseMs, signal);
      if (signal.aborted) throw error;
    }
  }
}

/** For pauses of milliseconds that a shutdown waits for. */
export const never: AbortSignal = new AbortController().signal;
