import { setTimeout as delay } from 'node:timers/promises';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import type { Bench } from '../tools/bench.ts';
import { withClient } from '../tools/client.ts';
import { fixed, progress, table, verdict, whole } from '../tools/report.ts';
import { createReference, type Reference } from './reference.ts';
import { readSizes, type TableSize } from './sizes.ts';
import { claimCost, costliest, readCounts, type StatementCost } from './statements.ts';
import {
  closeVariant,
  createVariant,
  holdSnapshot,
  readProgress,
  startVariant,
  type Variant,
  type VariantName,
  verifyCommitted,
} from './variant.ts';

export interface GrowthScale {
  variants: VariantName[];
  /** Of load, for each variant. */
  minutes: number;
  /**
   * Of load before that. In the beginning everything is overdue, and placing all of it takes what syncs need; and only once
   * as much is deleted as is added do later minutes have the same work as the first.
   */
  warmUpMinutes: number;
  /** So many in the end are compared with so many in the beginning: whole slices, as each begins with everything overdue. */
  comparedMinutes: number;
  /** The variants take turns after so many; before each turn the machine is measured. */
  sliceMinutes: number;
  /**
   * With an interval of a minute and up to 12 s of jitter, so many that more comes due than can be run: then there is always
   * work, and nobody but the engine writes.
   */
  connections: number;
  processes: number;
  /** Ended jobs and signals are deleted after so long. */
  retentionMinutes: number;
}

export const growthScales: Record<'full' | 'quick', GrowthScale> = {
  full: {
    variants: ['plain', 'held'],
    minutes: 120,
    warmUpMinutes: 17,
    comparedMinutes: 10,
    sliceMinutes: 5,
    connections: 500_000,
    processes: 2,
    retentionMinutes: 15,
  },
  quick: {
    variants: ['plain', 'held'],
    minutes: 2,
    warmUpMinutes: 3,
    comparedMinutes: 1,
    sliceMinutes: 1,
    connections: 300_000,
    processes: 2,
    retentionMinutes: 1,
  },
};

/** The same in so many minutes. */
export function shortened(scale: GrowthScale, minutes: number): GrowthScale {
  const retentionMinutes = Math.max(1, Math.min(scale.retentionMinutes, Math.floor(minutes / 4)));
  const comparedMinutes = Math.min(scale.comparedMinutes, Math.max(1, Math.floor(minutes / 3)));
  const sliceMinutes = Math.min(scale.sliceMinutes, comparedMinutes);
  const warmUpMinutes = retentionMinutes + 2;
  return { ...scale, minutes, retentionMinutes, comparedMinutes, sliceMinutes, warmUpMinutes };
}

interface Minute {
  variant: VariantName;
  /** Of load of this variant so far, at the end of this one; those to warm up are counted down to 0. */
  minute: number;
  /** Since the benchmark began. */
  elapsedMinutes: number;
  syncsPerSecond: number;
  /** What the machine did just before, on fresh tables. */
  referencePerSecond: number;
  /** Due jobs of one provider that nobody had begun at the end of the minute, up to 1,000. */
  waiting: number;
  claim: { calls: number; meanMs: number };
  costliest: StatementCost[];
  tables: TableSize[];
}

export interface GrowthResult {
  scale: GrowthScale;
  minutes: Minute[];
  summary: GrowthSummary[];
}

interface GrowthSummary {
  variant: VariantName;
  goal: number;
  syncs: number;
  /** Of the last minutes that are compared to the first. */
  lastToFirst: number;
  /** The same, of syncs per second divided by the reference of their slice. */
  lastToFirstByReference: number;
  /** Minutes in which work ran out: then it was not the most that could be done. */
  minutesWithoutWork: number;
  /** At the end, of all tables and indexes. */
  totalBytes: number;
  /** By which all tables and indexes grew in the second half, per million syncs of it. */
  bytesPerMillionSyncs: number;
}

/** The part of the throughput of the first minutes that the last must reach. */
const goals: Record<VariantName, number> = { plain: 0.9, held: 0.7 };

interface Run {
  variants: Variant[];
  processes: EngineProcess[];
  reference: Reference;
  scale: GrowthScale;
  startedMs: number;
}

export async function measureGrowth(bench: Bench, scale: GrowthScale): Promise<GrowthResult> {
  const startedMs = performance.now();
  const names = scale.variants.map((name) => `bench_growth_${name}`);
  const processes = Array.from({ length: scale.processes }, startEngine);
  const variants: Variant[] = [];
  const referenceUrl = await bench.createDatabase('bench_growth_reference');
  try {
    return await withClient(referenceUrl, async (client) => {
      const reference = await createReference(client, referenceUrl);
      try {
        for (const name of scale.variants) {
          progress(`growth: ${whole(scale.connections)} connections, ${name}`);
          const url = await bench.createDatabase(`bench_growth_${name}`);
          variants.push(await createVariant(name, url, scale.connections));
        }
        const minutes = await runSlices({ variants, processes, reference, scale, startedMs });
        return { scale, minutes, summary: scale.variants.map((name) => summarize(name, minutes, scale)) };
      } finally {
        await reference.stop();
      }
    });
  } finally {
    await Promise.all([...processes.map((one) => one.end()), ...variants.map(closeVariant)]);
    for (const name of [...names, 'bench_growth_reference']) await bench.dropDatabase(name);
  }
}

async function runSlices(run: Run): Promise<Minute[]> {
  const { variants, scale } = run;
  const minutes: Minute[] = [];
  const slices = Math.ceil(scale.minutes / scale.sliceMinutes);
  for (let slice = scale.warmUpMinutes > 0 ? -1 : 0; slice < slices; slice++) {
    const first = slice < 0 ? -scale.warmUpMinutes : slice * scale.sliceMinutes;
    const count = slice < 0 ? scale.warmUpMinutes : Math.min(scale.sliceMinutes, scale.minutes - first);
    // Another one first each time.
    const turns = slice % 2 === 0 ? variants : variants.toReversed();
    for (const variant of turns) minutes.push(...(await runSlice(run, variant, first, count)));
  }
  return minutes;
}

async function runSlice(run: Run, variant: Variant, first: number, count: number): Promise<Minute[]> {
  const { processes, reference, scale } = run;
  const referencePerSecond = await reference.jobsPerSecond();
  await startVariant(variant, processes, scale.retentionMinutes);
  const minutes: Minute[] = [];
  for (let i = 0; i < count; i++) {
    if (variant.name === 'held' && first + i === 0) await holdSnapshot(variant);
    minutes.push({ ...(await runMinute(run, variant, first + i + 1)), referencePerSecond });
  }
  await Promise.all(processes.map((one) => one.tell({ action: 'stop' })));
  variant.committed = (await readProgress(variant)).committed;
  variant.counts = await readCounts(variant.client);
  await verifyCommitted(variant);
  return minutes;
}

async function runMinute(
  run: Run,
  variant: Variant,
  minute: number,
): Promise<Omit<Minute, 'referencePerSecond'>> {
  const { client, counts: before, committed: committedBefore } = variant;
  const started = performance.now();
  await delay(60_000);
  const { committed, waiting } = await readProgress(variant);
  const seconds = (performance.now() - started) / 1000;
  const after = await readCounts(client);
  variant.counts = after;
  variant.committed = committed;
  const syncsPerSecond = (committed - committedBefore) / seconds;
  const claim = claimCost(before, after);
  progress(
    `growth: ${variant.name}, minute ${minute}: ${whole(syncsPerSecond)} syncs/s, ${fixed(2)(claim.meanMs)} ms per claim, ${waiting} waiting`,
  );
  return {
    variant: variant.name,
    minute,
    elapsedMinutes: (performance.now() - run.startedMs) / 60_000,
    syncsPerSecond,
    waiting,
    claim,
    costliest: costliest(before, after),
    tables: await readSizes(client, variant.fleet.engine.config.database.schema),
  };
}

function summarize(variant: VariantName, all: Minute[], { comparedMinutes }: GrowthScale): GrowthSummary {
  const minutes = all.filter((one) => one.variant === variant && one.minute > 0);
  const mean = (of: Minute[], value: (minute: Minute) => number) =>
    of.reduce((sum, minute) => sum + value(minute), 0) / of.length;
  const lastToFirst = (value: (minute: Minute) => number) =>
    mean(minutes.slice(-comparedMinutes), value) / mean(minutes.slice(0, comparedMinutes), value);
  const relative = (minute: Minute) => minute.syncsPerSecond / minute.referencePerSecond;
  const bytes = (minute: Minute | undefined) =>
    minute?.tables.reduce((sum, { totalBytes }) => sum + totalBytes, 0) ?? 0;
  const syncs = (of: Minute[]) => of.reduce((sum, minute) => sum + minute.syncsPerSecond * 60, 0);
  const middle = Math.floor((minutes.length - 1) / 2);
  const grown = bytes(minutes.at(-1)) - bytes(minutes[middle]);
  return {
    variant,
    goal: goals[variant],
    syncs: syncs(minutes),
    lastToFirst: lastToFirst((minute) => minute.syncsPerSecond),
    lastToFirstByReference: lastToFirst(relative),
    minutesWithoutWork: minutes.filter(({ waiting }) => waiting === 0).length,
    totalBytes: bytes(minutes.at(-1)),
    bytesPerMillionSyncs: grown / (syncs(minutes.slice(middle + 1)) / 1e6),
  };
}

export function growthTable({ minutes, summary }: GrowthResult): string {
  const labels = { plain: 'as it is', held: 'beside a held snapshot' };
  const rows = summary.map((one) => {
    const own = minutes.filter(({ variant, minute }) => variant === one.variant && minute > 0);
    const claims = [own[0], own.at(-1)].map((minute) => fixed(2)(minute?.claim.meanMs ?? 0)).join(' → ');
    const [raw, relative] = [one.lastToFirst, one.lastToFirstByReference].map(fixed(2)) as [string, string];
    const met = verdict(one.lastToFirstByReference >= one.goal);
    const mb = whole(one.totalBytes / 2 ** 20);
    return [labels[one.variant], whole(one.syncs), raw, relative, `≥ ${one.goal}: ${met}`, claims, mb];
  });
  return table(
    ['Load', 'syncs', 'last minutes to first', 'by the reference', 'goal', 'ms per claim', 'MB at the end'],
    rows,
  );
}
