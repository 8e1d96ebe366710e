import { parseArgs } from 'node:util';

export type SoakOptions = Exclude<ReturnType<typeof parseOptions>, 'help'>;
export type Plan = ReturnType<typeof planLoad>;

const load = 0.8;
/** The minimum interval and the default jitter of the engine. */
export const [intervalSeconds, maxJitterSeconds] = [60, 12];
/** Mean time between two runs of a connection. The engine counts an interval from the end of a run. */
export const cycleSeconds = intervalSeconds + maxJitterSeconds / 2;

export const help = `Runs two processes at 80 % of their capacity on a temporary Postgres server (fsync and autovacuum on). Checks invariants in SQL
every minute and looks for growth. Exit code 1: at least one check failed.

Usage: npm run soak -- [options]

  --hours <n>, --minutes <n>  duration of the load; default 8 hours
  --connections <n>           default: as many as the load needs
  --capacity <n>              syncs per second; measured unless given, which takes four minutes

A run of at least ten minutes without --connections replaces bench/results/soak.json. npm run bench:report writes docs/soak.md.`;

export function parseOptions(args: string[]) {
  const string = { type: 'string' } as const;
  const options = { hours: string, minutes: string, connections: string, capacity: string };
  const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean' } } });
  if (values.help) return 'help' as const;
  if (values.hours !== undefined && values.minutes !== undefined)
    throw new Error('Use either --hours or --minutes.');
  const number = (name: keyof typeof options, min: number, max: number) => {
    const text = values[name];
    if (text !== undefined && !(Number(text) >= min && Number(text) <= max))
      throw new Error(`--${name}: "${text}" is not a number from ${min} to ${max}.`);
    return text === undefined ? undefined : Number(text);
  };
  return {
    minutes: Math.round(number('minutes', 2, 10_080) ?? (number('hours', 0.1, 168) ?? 8) * 60),
    /** Default: as many as the load needs. */
    connections: number('connections', 100, 5_000_000),
    capacityPerSecond: number('capacity', 1, 1_000_000),
  };
}

export function planLoad({ minutes, connections: given }: SoakOptions, capacityPerSecond: number) {
  const connections = Math.round(given ?? load * capacityPerSecond * cycleSeconds);
  const perSecond = connections / cycleSeconds;
  const retentionMinutes = Math.min(30, Math.max(1, Math.floor(minutes / 3)));
  return {
    connections,
    perSecond,
    /** Of the capacity. */
    load: perSecond / capacityPerSecond,
    retentionMinutes,
    // Until deletes balance inserts. The janitor and autovacuum each pause for a minute.
    warmUpMinutes: Math.min(retentionMinutes + 2, Math.floor(minutes / 2)),
  };
}

/** Each minute checks one part of the connections. Every part is checked before retention deletes its signals. */
export function partsOf({ retentionMinutes }: Plan): number {
  return Math.min(16, Math.max(1, Math.floor(retentionMinutes - (2 * cycleSeconds) / 60)));
}
