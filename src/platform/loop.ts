import type { Ports } from './ports.ts';
import { retryDelayMs } from './retry.ts';

export interface Loop {
  /** Ends the pause or skips the next. */
  wake(): void;
  /** Resolves after the current round. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  ports: Ports;
  /** Returns the pause in ms; Infinity waits for `wake` without a timer. */
  runOnce: (signal: AbortSignal) => Promise<number>;
  onFailure: (error: unknown, retryMs: number) => void;
  /** False: does not keep the process running. */
  ref?: boolean;
}

/** The default DOMException has a stack trace. */
const woken = 'woken';

export function startLoop({ ports, runOnce, onFailure, ref = true }: LoopOptions): Loop {
  const stopping = new AbortController();
  let pause = new AbortController();

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      pause = new AbortController();
      const delayMs = await runOnce(stopping.signal).then(
        (nextMs) => {
          failures = 0;
          return nextMs;
        },
        (error: unknown) => {
          const retryMs = retryDelayMs(failures++, ports.random());
          onFailure(error, retryMs);
          return retryMs;
        },
      );
      if (!pause.signal.aborted && !stopping.signal.aborted && delayMs > 0)
        await (delayMs === Number.POSITIVE_INFINITY
          ? aborted(pause.signal)
          : ports.sleep(delayMs, pause.signal, { ref }));
    }
  }

  const ended = run();
  return {
    wake: () => {
      if (!pause.signal.aborted) pause.abort(woken);
    },
    stop: () => {
      stopping.abort();
      pause.abort(woken);
      return ended;
    },
  };
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
