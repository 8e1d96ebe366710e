import type { Ports } from './ports.ts';
import { retryDelayMs } from './retry.ts';

export interface Loop {
  /** Ends the current pause; a running round is followed by another without a pause. */
  wake(): void;
  /** Starts no new round; resolves when the current one has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  ports: Ports;
  /** One round of work; returns the delay before the next, in ms. `stop` aborts the signal. */
  runOnce: (signal: AbortSignal) => Promise<number>;
  onFailure: (error: unknown, retryMs: number) => void;
}

/** An explicit reason avoids the default DOMException with its stack trace. */
const woken = 'woken';

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
