import type { Config } from '../config/settings.ts';
import type { Ports } from '../platform/ports.ts';
import { baseInterval } from '../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../schedule/jitter.ts';
import { type Placement, place } from '../schedule/placement.ts';
import type { DueConnection } from './due.ts';

export interface PlannedJob extends Placement {
  id: string;
  connection: DueConnection;
  baseSeconds: number;
  jitterSeconds: number;
}

export function plan(
  connection: DueConnection,
  config: Config['scheduler'],
  ports: Ports,
  nowMs: number,
): PlannedJob {
  const baseSeconds = baseInterval(connection.sync.intervalSeconds, config);
  const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), ports.random());
  const placement = place({
    lastEndedMs: connection.lastEndedMs,
    activatedMs: connection.sync.firstActivatedAtMs,
    createdMs: connection.createdMs,
    baseSeconds,
    jitterSeconds,
    nowMs,
  });
  return { id: ports.newId(), connection, baseSeconds, jitterSeconds, ...placement };
}
