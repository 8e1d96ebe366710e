import { systemPorts } from '../platform/ports.ts';

/** How often the event loop is sampled. */
const sampleMs = 20;
/** The shortest of so many delays counts: one long task is no overload, timers that are never on time are. */
const samples = 5;

let recent: number[] | undefined;

/**
 * How late the timers of this process fire for some time already, in milliseconds. Measuring begins with the first call, once for
 * the whole process: it has one event loop.
 */
export function loopDelayMs(): number {
  recent ??= startSampling();
  return Math.min(...recent);
}

function startSampling(): number[] {
  const delays = Array<number>(samples).fill(0);
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
