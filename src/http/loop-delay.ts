import { systemPorts } from '../platform/ports.ts';

const sampleMs = 20;
/** Their minimum counts: one long task is no overload. */
const sampleCount = 5;

let recent: number[] | undefined;

/** Sampling starts with the first call. */
export function loopDelayMs(): number {
  recent ??= startSampling();
  return Math.min(...recent);
}

function startSampling(): number[] {
  const delays = Array<number>(sampleCount).fill(0);
  let lastMs = systemPorts.monotonicMs();
  const sample = () => {
    const nowMs = systemPorts.monotonicMs();
    delays.shift();
    delays.push(Math.max(0, nowMs - lastMs - sampleMs));
    lastMs = nowMs;
  };
  setInterval(sample, sampleMs).unref();
  return delays;
}
