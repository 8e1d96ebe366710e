import type { Config } from '../config/settings.ts';
import type { Ports } from '../platform/ports.ts';
import { baseInterval } from '../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../schedule/jitter.ts';
import { type Placement, place } from '../schedule/placement.ts';
import { placeBySchedule } from '../schedule/scheduled-placement.ts';
import type { DueConnection } from './due.ts';

export interface PlannedJob extends Placement {
  id: string;
  connection: DueConnection;
  /** Interval, or distance to the next occurrence. */
  baseSeconds: number;
  jitterSeconds: number;
  /**
   * SCH-12: `next_run_at` moves to an occurrence over a tick ahead, without a job. A trigger or webhook would
   * bring a waiting job forward, and the occurrence would be lost.
   */
  isDeferred: boolean;
}

export function plan(
  connection: DueConnection,
  config: Config['scheduler'],
  ports: Ports,
  nowMs: number,
): PlannedJob {
  const { timetable, lastEndedMs, sync } = connection;
  if (timetable) {
    const random = ports.random();
    const { nextRunAtMs } = sync;
    const placed = placeBySchedule({ timetable, lastEndedMs, nextRunAtMs, bounds: config, random, nowMs });
    const isDeferred = placed.slotMs > nowMs + config.tickIntervalSeconds * 1000;
    return { id: ports.newId(), connection, ...placed, isDeferred };
  }
  const baseSeconds = baseInterval(sync.intervalSeconds, config);
  const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), ports.random());
  const placement = place({
    lastEndedMs,
    activatedMs: sync.firstActivatedAtMs,
    createdMs: connection.createdMs,
    baseSeconds,
    jitterSeconds,
    nowMs,
  });
  return { id: ports.newId(), connection, baseSeconds, jitterSeconds, ...placement, isDeferred: false };
}
