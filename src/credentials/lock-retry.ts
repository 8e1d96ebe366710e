import type { Ports } from '../platform/ports.ts';
import { retry } from '../platform/retry.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { refreshLockTimeoutMs } from './refresh.ts';

/** A longer lock is a token refresh. */
export const briefLockMs = 200;
const pauseMs = 1000;

export interface LockRetryContext {
  ports: Pick<Ports, 'sleep' | 'random'>;
  stopping: AbortSignal;
}

/**
 * Retries `attempt`, of at most `briefLockMs`, while a token refresh may hold the row. Sleeping without a
 * connection spares the pool.
 */
export function retryLockTimeouts<T>(
  { ports, stopping }: LockRetryContext,
  attempt: () => Promise<T>,
): Promise<T> {
  return retry(attempt, {
    ports,
    attempts: 1 + refreshLockTimeoutMs / pauseMs,
    shouldRetry: isLockTimeout,
    // Spreads callers that started together.
    delayMs: (_failures, random) => pauseMs * (0.5 + random),
    signal: stopping,
  });
}
