import { hostname } from 'node:os';
import type { TickResult } from '../pipeline/events.ts';
import { type SchedulerContext, tick } from '../pipeline/tick.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import { cronSchedulerId, deleteScheduler, recordTick, type SchedulerRow } from '../store/schedulers.ts';
import type { Telemetry } from '../telemetry/index.ts';

type Self = Pick<SchedulerRow, 'id' | 'host' | 'pid' | 'started_at'>;

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
      const result = await tick(context, undefined, signal);
      await record(context, { ...self, started_at: startedAt }, result);
      const elapsedMs = ports.monotonicMs() - startedMs;
      return Math.max(0, config.tickIntervalSeconds * 1000 - elapsedMs);
    },
  });
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop();
      // Stale rows are deleted after an hour.
      await deleteScheduler(db, self.id).catch(() => {});
    },
  };
}

/** Its record shows `doctor` a fleet that runs from cron. */
export async function tickOnce(context: SchedulerContext, signal: AbortSignal): Promise<TickResult> {
  const result = await tick(context, undefined, signal);
  const host = hostname();
  const startedAt = await context.db.now();
  await record(context, { id: cronSchedulerId(host), host, pid: process.pid, started_at: startedAt }, result);
  return result;
}

async function record(
  { db }: SchedulerContext,
  self: Self,
  { scheduled, durationMs }: TickResult,
): Promise<void> {
  await recordTick(db, {
    ...self,
    ticked_at: await db.now(),
    tick_ms: Math.round(durationMs),
    scheduled,
    clock_skew_seconds: db.clock.skewSeconds(),
  });
}
