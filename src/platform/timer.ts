import type { Clock } from '../contract/clock.ts';

/** An explicit reason avoids the default DOMException with its stack trace. */
const cancelled = 'cancelled';

/** Calls `work` after `ms`. Returns a function that cancels it. */
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
