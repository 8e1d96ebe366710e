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
  /** Interval, or distance to the next occurrence of the schedule. */
  baseSeconds: number;
  jitterSeconds: number;
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
    return { id: ports.newId(), connection, ...placed };
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
  return { id: ports.newId(), connection, baseSeconds, jitterSeconds, ...placement };
}
