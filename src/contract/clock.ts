/** The engine's time. Tests replace it. */
export interface Clock {
  /** Milliseconds since 1970; in the engine, by the database's clock (DB-6). */
  now(): number;
  /** For durations. */
  monotonicMs(): number;
  /** Resolves after `ms` or on abort; never rejects. `ref: false` lets the process exit. */
  sleep(ms: number, signal: AbortSignal, options?: { ref?: boolean }): Promise<void>;
}
