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
 * Retries `attempt`, which waits at most `briefLockMs`, for as long as a token refresh may hold the row.
 * Sleeping without a connection does not exhaust the pool.
 */
export function retryLockTimeouts<T>(
  { ports, stopping }: LockRetryContext,
  attempt: () => Promise<T>,
): Promise<T> {
  return retry(attempt, {
    ports,
    attempts: 1 + refreshLockTimeoutMs / pauseMs,
    shouldRetry: isLockTimeout,
    // Jitter spreads callers that started together.
    delayMs: (_failures, random) => pauseMs * (0.5 + random),
    signal: stopping,
  });
}
