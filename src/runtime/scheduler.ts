import { hostname } from 'node:os';
import { type SchedulerContext, tick } from '../pipeline/tick.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import { deleteScheduler, recordTick } from '../store/schedulers.ts';
import type { Telemetry } from '../telemetry/index.ts';

interface SchedulerOptions extends SchedulerContext {
  telemetry: Telemetry;
}

export function startScheduler(context: SchedulerOptions): Loop {
  const { db, ports, config, telemetry } = context;
  const self = { id: ports.newId(), host: hostname(), pid: process.pid };
  let startedAt: Date | undefined;
  const loop = startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('scheduler', error, retryMs),
    runOnce: async (signal) => {
      const startedMs = ports.monotonicMs();
      startedAt ??= await db.now();
      const { scheduled, durationMs } = await tick(context, undefined, signal);
      const row = {
        ...self,
        started_at: startedAt,
        ticked_at: await db.now(),
        clock_skew_seconds: db.clock.skewSeconds(),
      };
      await recordTick(db, { ...row, tick_ms: Math.round(durationMs), scheduled });
      const elapsedMs = ports.monotonicMs() - startedMs;
      return Math.max(0, config.tickIntervalSeconds * 1000 - elapsedMs);
    },
  });
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop();
      // Best effort: stale rows are deleted after an hour.
      await deleteScheduler(db, self.id).catch(() => {});
    },
  };
}
