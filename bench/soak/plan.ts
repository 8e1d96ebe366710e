import type { SoakOptions } from './options.ts';

/** How the load is made. */
export interface Plan {
  connections: number;
  intervalSeconds: number;
  /** What then comes due. */
  perSecond: number;
  /** As a part of the capacity. */
  load: number;
  /** Ended jobs and signals are deleted after so long. */
  retentionMinutes: number;
  /** Of load, until as much is deleted as is added. Only what comes after is judged. */
  warmUpMinutes: number;
}

/** The shortest that the engine knows. */
export const shortestIntervalSeconds = 60;
/** The engine's own default. */
const jitterPctMax = 0.2;

export const mostJitterSeconds = (intervalSeconds: number) => Math.floor(intervalSeconds * jitterPctMax);

/** From the end of a run to that of the next, if nothing is late: an interval is counted from when a run ended. */
export function cycleSeconds(intervalSeconds: number): number {
  return intervalSeconds + mostJitterSeconds(intervalSeconds) / 2;
}

type Wanted = Pick<SoakOptions, 'minutes' | 'connections' | 'mayAddConnections' | 'load'>;

export function planLoad(wanted: Wanted, capacityPerSecond: number): Plan {
  const perSecond = wanted.load * capacityPerSecond;
  const intervalSeconds = intervalFor(wanted.connections / perSecond);
  const needed = Math.round(perSecond * cycleSeconds(intervalSeconds));
  const connections = wanted.mayAddConnections ? Math.max(wanted.connections, needed) : wanted.connections;
  const retentionMinutes = Math.min(30, Math.max(1, Math.floor(wanted.minutes / 3)));
  const planned = connections / cycleSeconds(intervalSeconds);
  return {
    connections,
    intervalSeconds,
    perSecond: planned,
    load: planned / capacityPerSecond,
    retentionMinutes,
    // Two more: the janitor rests for a minute, and so does autovacuum, which makes room for what comes next.
    warmUpMinutes: Math.min(retentionMinutes + 2, Math.floor(wanted.minutes / 2)),
  };
}

/** The shortest interval that makes no more than one sync in so many seconds. */
function intervalFor(seconds: number): number {
  let interval = shortestIntervalSeconds;
  while (cycleSeconds(interval) < seconds) interval++;
  return interval;
}

/**
 * Connections are looked at in so many parts, one a minute: few enough that what is kept of a connection goes back to before it was
 * last looked at, and no number can be missed in between.
 */
export function partsOf({ retentionMinutes, intervalSeconds }: Plan): number {
  const overlapMinutes = (2 * cycleSeconds(intervalSeconds)) / 60;
  return Math.min(16, Math.max(1, Math.floor(retentionMinutes - overlapMinutes)));
}
