import { setTimeout as delay } from 'node:timers/promises';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import { type Bench, withClient } from '../tools/postgres.ts';
import { readSizes, type TableSize } from '../tools/sizes.ts';
import { fixed, progress, sum, whole } from '../tools/text.ts';
import { createReference } from './reference.ts';
import {
  closeVariant,
  createVariant,
  holdSnapshot,
  readCounters,
  startVariant,
  type Variant,
  type VariantName,
  verifySignals,
} from './variant.ts';

interface GrowthScale {
  /** Minutes of load per variant, after the warm-up. */
  minutes: number;
  /** At first all connections are overdue, and no row is old enough to be deleted. */
  warmUpMinutes: number;
  /** The last minutes are compared with this many first minutes. A multiple of `sliceMinutes`. */
  comparedMinutes: number;
  /** The variants alternate after this time; the reference is measured before each slice. */
  sliceMinutes: number;
  /** With an interval of a minute, more jobs come due than the processes can run. */
  connections: number;
  processes: number;
  retentionMinutes: number;
}

export function growthScale(minutes: number): GrowthScale {
  const retentionMinutes = Math.max(1, Math.min(15, Math.floor(minutes / 4)));
  const comparedMinutes = Math.min(10, Math.max(1, Math.floor(minutes / 3)));
  return {
    minutes,
    warmUpMinutes: retentionMinutes + 2,
    comparedMinutes,
    sliceMinutes: Math.min(5, comparedMinutes),
    connections: 500_000,
    processes: 2,
    retentionMinutes,
  };
}

interface Minute {
  variant: VariantName;
  /** Counts up from 1; the warm-up ends with 0. */
  minute: number;
  syncsPerSecond: number;
  referencePerSecond: number;
  waiting: number;
  claimMs: number;
  tables: TableSize[];
}

export interface GrowthResult {
  scale: GrowthScale;
  minutes: Minute[];
}

export const growthVariants: VariantName[] = ['plain', 'held'];

interface Run {
  variants: Variant[];
  processes: EngineProcess[];
  reference: () => Promise<number>;
  scale: GrowthScale;
}

export async function measureGrowth(bench: Bench, scale: GrowthScale): Promise<GrowthResult> {
  const databaseOf = (name: string) => `bench_growth_${name}`;
  const processes = Array.from({ length: scale.processes }, () => startEngine());
  const variants: Variant[] = [];
  const referenceUrl = await bench.createDatabase(databaseOf('reference'));
  try {
    return await withClient(referenceUrl, async (client) => {
      const reference = await createReference(client, referenceUrl);
      for (const name of growthVariants) {
        progress(`growth: ${whole(scale.connections)} connections, ${name}`);
        const url = await bench.createDatabase(databaseOf(name));
        variants.push(await createVariant(name, url, scale.connections));
      }
      return { scale, minutes: await runSlices({ variants, processes, reference, scale }) };
    });
  } finally {
    await Promise.all([...processes.map((one) => one.end()), ...variants.map(closeVariant)]);
    for (const name of [...growthVariants, 'reference']) await bench.dropDatabase(databaseOf(name));
  }
}

async function runSlices(run: Run): Promise<Minute[]> {
  const { variants, scale } = run;
  const minutes: Minute[] = [];
  const slices = Math.ceil(scale.minutes / scale.sliceMinutes);
  // Slice -1 is the warm-up.
  for (let slice = -1; slice < slices; slice++) {
    const first = slice < 0 ? -scale.warmUpMinutes : slice * scale.sliceMinutes;
    const count = slice < 0 ? scale.warmUpMinutes : Math.min(scale.sliceMinutes, scale.minutes - first);
    const order = slice % 2 === 0 ? variants : variants.toReversed();
    for (const variant of order) minutes.push(...(await runSlice(run, variant, first, count)));
  }
  return minutes;
}

async function runSlice(run: Run, variant: Variant, first: number, count: number): Promise<Minute[]> {
  const { processes, reference, scale } = run;
  const referencePerSecond = await reference();
  await startVariant(variant, processes, scale.retentionMinutes);
  const minutes: Minute[] = [];
  for (let i = 0; i < count; i++) {
    if (variant.name === 'held' && first + i === 0) await holdSnapshot(variant);
    minutes.push(await runMinute(variant, first + i + 1, referencePerSecond));
  }
  await Promise.all(processes.map((one) => one.send({ action: 'stop' })));
  variant.counters = await readCounters(variant);
  await verifySignals(variant);
  return minutes;
}

async function runMinute(variant: Variant, minute: number, referencePerSecond: number): Promise<Minute> {
  const { name, counters: before } = variant;
  const started = performance.now();
  await delay(60_000);
  const after = await readCounters(variant);
  const seconds = (performance.now() - started) / 1000;
  variant.counters = after;
  const syncsPerSecond = (after.syncs - before.syncs) / seconds;
  const claims = after.claims - before.claims;
  if (claims === 0) throw new Error('pg_stat_statements contains no claim.');
  const claimMs = (after.claimMs - before.claimMs) / claims;
  const { waiting } = after;
  progress(
    `growth: ${name}, minute ${minute}: ${whole(syncsPerSecond)} syncs/s, ${fixed(2)(claimMs)} ms per claim, ${waiting} waiting`,
  );
  const tables = await readSizes(variant.client, variant.fleet.schemaName);
  return { variant: name, minute, syncsPerSecond, referencePerSecond, waiting, claimMs, tables };
}

export function summarize({ minutes: all, scale: { comparedMinutes } }: GrowthResult, name: VariantName) {
  const minutes = all.filter(({ variant, minute }) => variant === name && minute > 0);
  const lastToFirst = (value: (minute: Minute) => number) =>
    sum(minutes.slice(-comparedMinutes).map(value)) / sum(minutes.slice(0, comparedMinutes).map(value));
  const bytes = (minute: Minute | undefined) => sum(minute?.tables.map(({ totalBytes }) => totalBytes) ?? []);
  const syncs = (of: Minute[]) => sum(of.map(({ syncsPerSecond }) => syncsPerSecond * 60));
  const middle = Math.floor((minutes.length - 1) / 2);
  const [first, last] = [minutes[0], minutes.at(-1)];
  return {
    syncs: syncs(minutes),
    /** Rate of the last compared minutes divided by the rate of the first. */
    lastToFirst: lastToFirst(({ syncsPerSecond }) => syncsPerSecond),
    /** The same, each rate divided by the reference of its slice. */
    lastToFirstByReference: lastToFirst((one) => one.syncsPerSecond / one.referencePerSecond),
    /** In these minutes the rate is not the capacity. */
    minutesWithoutWork: minutes.filter(({ waiting }) => waiting === 0).length,
    claimMs: [first?.claimMs ?? 0, last?.claimMs ?? 0],
    totalBytes: bytes(last),
    /** Growth of all tables and indexes in the second half. */
    bytesPerMillionSyncs: ((bytes(last) - bytes(minutes[middle])) / syncs(minutes.slice(middle + 1))) * 1e6,
  };
}
