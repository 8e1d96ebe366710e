import { startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';

const sampleMs = 20;
/** The minimum counts: one long task is no overload. */
const sampleCount = 5;

/** Sampled from the first call until `signal` aborts. */
export function createLoopDelay(ports: Ports, signal: AbortSignal): () => number {
  let recent: number[] | undefined;
  return () => {
    recent ??= startSampling(ports, signal);
    return Math.min(...recent);
  };
}

function startSampling(ports: Ports, signal: AbortSignal): number[] {
  const delays = Array<number>(sampleCount).fill(0);
  let lastMs = ports.monotonicMs() - sampleMs;
  const loop = startLoop({
    ports,
    ref: false,
    runOnce: async () => {
      const nowMs = ports.monotonicMs();
      delays.shift();
      delays.push(Math.max(0, nowMs - lastMs - sampleMs));
      lastMs = nowMs;
      return sampleMs;
    },
    onFailure: () => {},
  });
  signal.addEventListener('abort', () => void loop.stop(), { once: true });
  if (signal.aborted) void loop.stop();
  return delays;
}
