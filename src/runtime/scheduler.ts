import type { SchedulerContext } from '../pipeline/enqueue.ts';
import { tick } from '../pipeline/tick.ts';
import { type Loop, startLoop } from './loop.ts';

/** Ticks on the interval until stopped. Any number of schedulers may run at once, in one process or in many. */
export function startScheduler(context: SchedulerContext): Loop {
  const { ports, config, telemetry } = context;
  return startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('scheduler', error, retryMs),
    runOnce: async (signal) => {
      const startedMs = ports.now();
      await tick(context, startedMs, signal);
      const elapsedMs = Math.max(0, ports.now() - startedMs);
      return Math.max(0, config.tickIntervalSeconds * 1000 - elapsedMs);
    },
  });
}
