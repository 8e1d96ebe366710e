/** Time as the engine sees it. Tests replace it. */
export interface Clock {
  /** Milliseconds since 1970. Inside the engine this is the database's clock (DB-6). */
  now(): number;
  /** Monotonic clock, for durations. */
  monotonicMs(): number;
  /**
   * Resolves after `ms` or on abort; never rejects. With `ref: false` it does not keep the process running.
   */
  sleep(ms: number, signal: AbortSignal, options?: { ref?: boolean }): Promise<void>;
}
