import { hostname } from 'node:os';
import type { SchedulerContext } from '../pipeline/enqueue.ts';
import { tick } from '../pipeline/tick.ts';
import { deleteScheduler, recordTick } from '../store/schedulers.ts';
import { type Loop, startLoop } from './loop.ts';

/** Ticks on the interval until stopped. Any number of schedulers may run at once, in one process or in many. */
export function startScheduler(context: SchedulerContext): Loop {
  const { db, ports, config, telemetry } = context;
  const self = { id: ports.newId(), host: hostname(), pid: process.pid, started_at: new Date(ports.now()) };
  const loop = startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('scheduler', error, retryMs),
    runOnce: async (signal) => {
      const startedMs = ports.now();
      const { scheduled, durationMs } = await tick(context, startedMs, signal);
      const tickMs = Math.round(durationMs);
      await recordTick(db, { ...self, ticked_at: new Date(ports.now()), tick_ms: tickMs, scheduled });
      const elapsedMs = Math.max(0, ports.now() - startedMs);
      return Math.max(0, config.tickIntervalSeconds * 1000 - elapsedMs);
    },
  });
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop();
      // One that cannot say goodbye is forgotten after an hour.
      await deleteScheduler(db, self.id).catch(() => {});
    },
  };
}
