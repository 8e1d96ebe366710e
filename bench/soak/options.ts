import { parseArgs } from 'node:util';

export interface SoakOptions {
  /** Of steady load. */
  minutes: number;
  connections: number;
  /** More than `connections` are taken where these, each at the shortest interval, do not make the load. */
  mayAddConnections: boolean;
  /** The part of the capacity that comes due. */
  load: number;
  processes: number;
  /** Syncs per second, where they are known and need not be measured. */
  capacityPerSecond: number | undefined;
}

export const usualConnections = 100_000;

const help = `Runs a fleet at a steady load for hours on a Postgres of its own (autovacuum and fsync on), looks for anything that grows and for
anything that is not as promised, and ends by itself. Exit code 1 says that something was found.

Usage: npm run soak -- [options]

  --hours <n>, --minutes <n>  how long the steady load lasts; 8 hours unless given
  --load <part>               of the capacity, which is measured first; 0.8 unless given
  --connections <n>           exactly so many; unless given 100,000, or more where 100,000 at one sync a minute are not enough
  --processes <n>             each schedules, runs and deletes; 2 unless given
  --capacity <n>              syncs per second that the fleet can do; unless given it is measured, which takes some four minutes
  --help

Examples:
  npm run soak -- --hours 8
  npm run soak -- --minutes 10
  npm run soak -- --minutes 2 --connections 5000 --capacity 2000   # tries it out, in less than three minutes

Every minute is told here and written to test-results/soak.jsonl. Runs of at least ten minutes and 100,000 connections replace
bench/results/soak.json and docs/soak.md. Ctrl-C ends it and leaves nothing behind.`;

/** Ends the process where help was asked for, or something else that is not known. */
export function readOptions(args: string[]): SoakOptions {
  try {
    const options = parseOptions(args);
    if (options) return options;
    console.log(help);
    process.exit(0);
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : error}\nnpm run soak -- --help tells what there is.`,
    );
    process.exit(2);
  }
}

/** Undefined where help was asked for; throws a sentence where something is not understood. */
export function parseOptions(args: string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args,
    options: {
      hours: { type: 'string' },
      minutes: { type: 'string' },
      load: { type: 'string' },
      connections: { type: 'string' },
      processes: { type: 'string' },
      capacity: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.hours !== undefined && values.minutes !== undefined)
    throw new Error('--hours and --minutes: give one of them.');
  const number = (name: Exclude<keyof typeof values, 'help'>, least: number, most: number) => {
    const text = values[name];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!(value >= least && value <= most))
      throw new Error(`--${name}: "${text}" is not a number from ${least} to ${most}.`);
    return value;
  };
  const whole = (value: number | undefined) => (value === undefined ? undefined : Math.round(value));
  const minutes = number('minutes', 2, 10_080) ?? (number('hours', 0.1, 168) ?? 8) * 60;
  const connections = whole(number('connections', 100, 5_000_000));
  return {
    minutes: Math.round(minutes),
    connections: connections ?? usualConnections,
    mayAddConnections: connections === undefined,
    load: number('load', 0.01, 1) ?? 0.8,
    processes: whole(number('processes', 1, 32)) ?? 2,
    capacityPerSecond: number('capacity', 1, 1_000_000),
  };
}
