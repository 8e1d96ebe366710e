import { parseArgs } from 'node:util';

export interface SoakOptions {
  minutes: number;
  connections: number;
  /** Without --connections the plan may use more, if the minimum interval does not reach the load. */
  mayAddConnections: boolean;
  /** Syncs per second; measured unless given. */
  capacityPerSecond: number | undefined;
}

export interface Plan {
  connections: number;
  intervalSeconds: number;
  /** Syncs that come due per second. */
  perSecond: number;
  /** `perSecond` as a fraction of the capacity. */
  load: number;
  retentionMinutes: number;
  /** Minutes until deletes balance inserts. Only later minutes are judged. */
  warmUpMinutes: number;
}

export const defaultConnections = 100_000;
const load = 0.8;
/** The minimum interval and the default jitter of the engine. */
const [minIntervalSeconds, jitterPctMax] = [60, 0.2];

export const help = `Runs two processes at 80 % of their capacity on a temporary Postgres server (fsync and autovacuum on). Checks invariants in SQL
every minute and looks for growth. Exit code 1: at least one check failed.

Usage: npm run soak -- [options]

  --hours <n>, --minutes <n>  duration of the load; default 8 hours
  --connections <n>           default 100,000, or more if needed for the load
  --capacity <n>              syncs per second; measured unless given, which takes four minutes

Runs of at least ten minutes and 100,000 connections replace bench/results/soak.json. npm run bench:report writes docs/soak.md.`;

/** Throws an error with a message for the user. */
export function parseOptions(args: string[]): SoakOptions | 'help' {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      hours: string,
      minutes: string,
      connections: string,
      capacity: string,
      help: { type: 'boolean' },
    },
  });
  if (values.help) return 'help';
  if (values.hours !== undefined && values.minutes !== undefined)
    throw new Error('Use either --hours or --minutes.');
  const number = (name: 'hours' | 'minutes' | 'connections' | 'capacity', min: number, max: number) => {
    const text = values[name];
    if (text !== undefined && !(Number(text) >= min && Number(text) <= max))
      throw new Error(`--${name}: "${text}" is not a number from ${min} to ${max}.`);
    return text === undefined ? undefined : Number(text);
  };
  const connections = number('connections', 100, 5_000_000);
  return {
    minutes: Math.round(number('minutes', 2, 10_080) ?? (number('hours', 0.1, 168) ?? 8) * 60),
    connections: Math.round(connections ?? defaultConnections),
    mayAddConnections: connections === undefined,
    capacityPerSecond: number('capacity', 1, 1_000_000),
  };
}

export const maxJitterSeconds = (intervalSeconds: number) => Math.floor(intervalSeconds * jitterPctMax);

/** Mean time between two runs of a connection. The engine counts an interval from the end of a run. */
export const cycleSeconds = (intervalSeconds: number) =>
  intervalSeconds + maxJitterSeconds(intervalSeconds) / 2;

export function planLoad(options: SoakOptions, capacityPerSecond: number): Plan {
  const wanted = load * capacityPerSecond;
  let intervalSeconds = minIntervalSeconds;
  while (cycleSeconds(intervalSeconds) < options.connections / wanted) intervalSeconds++;
  const needed = Math.round(wanted * cycleSeconds(intervalSeconds));
  const connections = options.mayAddConnections ? Math.max(options.connections, needed) : options.connections;
  const retentionMinutes = Math.min(30, Math.max(1, Math.floor(options.minutes / 3)));
  const perSecond = connections / cycleSeconds(intervalSeconds);
  return {
    connections,
    intervalSeconds,
    perSecond,
    load: perSecond / capacityPerSecond,
    retentionMinutes,
    // The janitor and autovacuum each pause for a minute.
    warmUpMinutes: Math.min(retentionMinutes + 2, Math.floor(options.minutes / 2)),
  };
}

/** Each minute checks one part of the connections. Every part is checked before retention deletes its signals. */
export function partsOf({ retentionMinutes, intervalSeconds }: Plan): number {
  const overlapMinutes = (2 * cycleSeconds(intervalSeconds)) / 60;
  return Math.min(16, Math.max(1, Math.floor(retentionMinutes - overlapMinutes)));
}
