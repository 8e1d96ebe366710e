import type { Ports } from './ports.ts';
import { retryDelayMs } from './retry.ts';

export interface Loop {
  /** Ends the pause under way; a round that is running is followed by another at once. */
  wake(): void;
  /** Starts nothing new, and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  ports: Ports;
  /** One round of work; returns how long to wait before the next. The signal aborts when the loop is to stop. */
  runOnce: (signal: AbortSignal) => Promise<number>;
  /** A round failed and is tried again after `retryMs`. */
  onFailure: (error: unknown, retryMs: number) => void;
}

/** Without a reason of ours, every abort makes an error with a stack trace. */
const woken = 'woken';

/** The one loop of the system. */
export function startLoop({ ports, runOnce, onFailure }: LoopOptions): Loop {
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
        await ports.sleep(delayMs, pause.signal);
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
