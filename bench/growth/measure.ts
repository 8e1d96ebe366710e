import { setTimeout as delay } from 'node:timers/promises';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import { readSizes, type TableSize } from '../tools/fleet.ts';
import type { Bench } from '../tools/postgres.ts';
import { fixed, progress, sum, whole } from '../tools/text.ts';
import { createReference } from './reference.ts';
import {
  createVariant,
  holdSnapshot,
  readCounters,
  startVariant,
  type Variant,
  verifySignals,
} from './variant.ts';

/** `held`: another transaction holds a snapshot. */
export type VariantName = 'plain' | 'held';

interface Minute {
  variant: VariantName;
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

type GrowthScale = ReturnType<typeof growthScale>;

/** With an interval of a minute, more of the connections come due than the processes can run. */
export function growthScale(minutes: number) {
  const retentionMinutes = Math.max(1, Math.min(5, Math.floor(minutes / 4)));
  const comparedMinutes = Math.min(3, Math.max(1, Math.floor(minutes / 3)));
  // At first all connections are overdue, and no row is old enough to be deleted.
  const warmUpMinutes = retentionMinutes + 2;
  const size = { connections: 500_000, processes: 2 };
  // Dead rows accumulate for as long as the snapshot is held.
  const heldMinutes = Math.min(9, minutes);
  return { minutes, heldMinutes, warmUpMinutes, comparedMinutes, ...size, retentionMinutes };
}

export const minutesOf = (scale: Pick<GrowthScale, 'minutes' | 'heldMinutes'>, name: VariantName) =>
  name === 'held' ? scale.heldMinutes : scale.minutes;

interface Run {
  variants: Variant[];
  processes: EngineProcess[];
  reference: () => Promise<number>;
  scale: GrowthScale;
}

export function measureGrowth(bench: Bench, scale: GrowthScale): Promise<GrowthResult> {
  const withVariant = <T>(name: VariantName, work: (variant: Variant) => Promise<T>) =>
    bench.withDatabase(`bench_growth_${name}`, async (client, url) => {
      progress(`growth: ${whole(scale.connections)} connections, ${name}`);
      return work(await createVariant(name, client, url, scale.connections));
    });
  return bench.withDatabase('bench_growth_reference', async (client, url) => {
    const reference = await createReference(client, url);
    const processes = Array.from({ length: scale.processes }, () => startEngine());
    try {
      const run = { processes, reference, scale };
      const minutes = await withVariant('plain', (plain) =>
        withVariant('held', (held) => runSlices({ ...run, variants: [plain, held] })),
      );
      return { scale, minutes };
    } finally {
      await Promise.all(processes.map((one) => one.end()));
    }
  });
}

/** The variants alternate after each slice, until the shorter one ends. Slice -1 is the warm-up. */
async function runSlices(run: Run): Promise<Minute[]> {
  const { variants, scale } = run;
  const minutes: Minute[] = [];
  for (let slice = -1; slice < Math.ceil(scale.minutes / scale.comparedMinutes); slice++) {
    const first = slice < 0 ? -scale.warmUpMinutes : slice * scale.comparedMinutes;
    const order = slice % 2 === 0 ? variants : variants.toReversed();
    for (const variant of order) {
      const left = minutesOf(scale, variant.name) - first;
      const count = slice < 0 ? scale.warmUpMinutes : Math.min(scale.comparedMinutes, left);
      if (count > 0) minutes.push(...(await runSlice(run, variant, first, count)));
    }
  }
  return minutes;
}

async function runSlice(run: Run, variant: Variant, first: number, count: number): Promise<Minute[]> {
  const referencePerSecond = await run.reference();
  await startVariant(variant, run.processes, run.scale.retentionMinutes);
  const minutes: Minute[] = [];
  for (let i = 0; i < count; i++) {
    if (variant.name === 'held' && first + i === 0) await holdSnapshot(variant);
    minutes.push(await runMinute(variant, first + i + 1, referencePerSecond));
  }
  await Promise.all(run.processes.map((one) => one.call('stop')));
  variant.counters = await readCounters(variant);
  await verifySignals(variant);
  return minutes;
}

async function runMinute(variant: Variant, minute: number, referencePerSecond: number): Promise<Minute> {
  const { name, counters: before } = variant;
  const started = performance.now();
  await delay(60_000);
  const after = await readCounters(variant);
  const syncsPerSecond = ((after.syncs - before.syncs) / (performance.now() - started)) * 1000;
  variant.counters = after;
  const { waiting } = after;
  const claimMs = (after.claimMs - before.claimMs) / (after.claims - before.claims);
  if (Number.isNaN(claimMs)) throw new Error('pg_stat_statements contains no claim.');
  const rate = `${whole(syncsPerSecond)} syncs/s, ${fixed(2)(claimMs)} ms per claim, ${waiting} waiting`;
  progress(`growth: ${name}, minute ${minute}: ${rate}`);
  const tables = await readSizes(variant.client, variant.fleet);
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
    lastToFirst: lastToFirst(({ syncsPerSecond }) => syncsPerSecond),
    lastToFirstByReference: lastToFirst((one) => one.syncsPerSecond / one.referencePerSecond),
    minutesWithoutWork: minutes.filter(({ waiting }) => waiting === 0).length,
    claimMs: [first?.claimMs ?? 0, last?.claimMs ?? 0],
    totalBytes: bytes(last),
    bytesPerMillionSyncs: ((bytes(last) - bytes(minutes[middle])) / syncs(minutes.slice(middle + 1))) * 1e6,
  };
}
