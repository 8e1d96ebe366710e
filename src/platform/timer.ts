import type { Clock } from '../contract/clock.ts';

/** Avoids the default DOMException with its stack trace. */
const cancelled = 'cancelled';

/** Returns a function that cancels `work`. */
export function startTimer(
  { sleep }: Pick<Clock, 'sleep'>,
  ms: number,
  work: () => void,
  options?: { ref?: boolean },
): () => void {
  const pending = new AbortController();
  void sleep(ms, pending.signal, options).then(() => {
    if (!pending.signal.aborted) work();
  });
  return () => pending.abort(cancelled);
}
