import { describe, expect, it } from 'vitest';
import type { GrowthResult } from '../../bench/growth/measure.ts';
import type { LatencyResult } from '../../bench/latency/measure.ts';
import type { ManySchedulesResult } from '../../bench/many-schedules/measure.ts';
import { page } from '../../bench/report/page.ts';
import { type Read, sectionsOf } from '../../bench/report/sections.ts';
import type { Contest, Measured } from '../../bench/tools/contest.ts';
import type { MeasuredOn } from '../../bench/tools/results.ts';

const measuredOn: MeasuredOn = {
  node: '24.0.0',
  postgres: '18.0',
  cores: 2,
  cpu: 'a processor',
  memoryGb: 8,
  loadBefore: 0.1,
  settings: { fsync: 'on' },
  peers: { 'pg-boss': '1.2.3' },
};

function contest(rates: Record<string, Record<string, number[]>>): Contest {
  const about = Object.entries(rates).map(([entrant, variants]) => [
    entrant,
    Object.fromEntries(Object.keys(variants).map((variant) => [variant, `how ${variant} is set`])),
  ]);
  const measured = (round: number): Measured[] =>
    Object.entries(rates).flatMap(([entrant, variants]) =>
      Object.entries(variants).map(([variant, values]) => ({
        entrant,
        variant,
        processes: 2,
        order: 'at once',
        totalMs: 1000,
        perSecond: values[round] ?? Number.NaN,
      })),
    );
  return { jobs: 1000, about: Object.fromEntries(about), rounds: [measured(0), measured(1), measured(2)] };
}

const schedules: ManySchedulesResult = {
  due: 100,
  ticks: [
    { connections: 1000, nothingDueMs: [1, 1, 1], someDueMs: [10, 10, 10] },
    { connections: 100_000, nothingDueMs: [1.2, 1.2, 1.2], someDueMs: [20, 20, 20] },
  ],
  lag: { perSecond: 200, seconds: 5, rounds: 1 },
  lags: [
    [
      { connections: 1000, p50Ms: 20, p99Ms: 40, mostMs: 50 },
      { connections: 100_000, p50Ms: 20, p99Ms: 40, mostMs: 50 },
    ],
  ],
  peers: [
    {
      peer: 'pg-boss',
      how: 'How it was set.',
      schedules: 1000,
      rounds: [{ schedules: 1000, passMs: [5], lagsMs: [900] }],
    },
    { peer: 'pg-boss', how: 'How it was set.', schedules: 100_000, rounds: [], stopped: 'It gave up.' },
  ],
};

const samples = [{ acknowledgedMs: 1, startedMs: 25, visibleMs: 30, fedMs: 200 }];
const latency: LatencyResult = {
  executor: { concurrency: 400, claimBatch: 200 },
  idle: { connections: 10, samples },
  saturatedPerSecond: [5000],
  load: {
    part: 0.8,
    connections: 10,
    duePerSecond: 4000,
    syncsPerSecond: 4000,
    lagMs: { p50: 10, p99: 60, most: 80 },
    cores: 0.7,
    samples,
  },
};

const minute = { elapsedMinutes: 1, waiting: 1, claim: { calls: 1, meanMs: 2 }, costliest: [], tables: [] };
const growth: GrowthResult = {
  scale: {
    variants: ['plain'],
    minutes: 2,
    warmUpMinutes: 0,
    comparedMinutes: 1,
    sliceMinutes: 1,
    connections: 10,
    processes: 2,
    retentionMinutes: 1,
  },
  minutes: [
    { ...minute, variant: 'plain', minute: 1, syncsPerSecond: 1000, referencePerSecond: 1 },
    { ...minute, variant: 'plain', minute: 2, syncsPerSecond: 950, referencePerSecond: 1 },
  ],
  summary: [
    {
      variant: 'plain',
      goal: 0.9,
      syncs: 100,
      lastToFirst: 0.95,
      lastToFirstByReference: 0.95,
      minutesWithoutWork: 0,
      totalBytes: 1,
      bytesPerMillionSyncs: 1,
    },
  ],
};

const results: Record<string, object> = {
  'bare-jobs': contest({
    Syncline: { sync: [100, 100, 100] },
    'pg-boss': { 'no-op': [400, 200, 300] },
  }),
  'real-job': contest({
    Syncline: { sync: [100, 100, 100] },
    'pg-boss': { plain: [50, 50, 50], batches: [200, 200, 200] },
  }),
  limit: contest({ Syncline: { sync: [60, 60, 60] }, 'SQL alone': { procedures: [100, 120, 80] } }),
  'many-schedules': schedules,
  latency,
  growth,
};

const read = (known: Record<string, object>) =>
  ((name: string) => known[name] && { measuredOn, minutes: 1, ...known[name] }) as Read;

describe('the page of benchmarks', () => {
  it('says of everything that was not measured that it was not', () => {
    const text = page(sectionsOf(read({})));
    expect(text.match(/^## \([a-f]\) .*\n\nNot measured yet\.$/gm)).toHaveLength(6);
    expect(text).not.toContain('.svg');
  });

  it('shows a plot of each measurement, and no figure that is none', () => {
    const sections = sectionsOf(read(results));
    const text = page(sections);
    const drawn = sections.flatMap(({ plots = {} }) => Object.keys(plots));
    const shown = [...text.matchAll(/\(benchmarks\/(.*)\.svg\)/g)].map((match) => match[1]);
    expect(drawn).toEqual(shown);
    expect(drawn.toSorted()).toEqual(Object.keys(results).toSorted());
    expect(text).not.toMatch(/NaN|undefined|Infinity|not measured yet/i);
  });

  it('compares within rounds, with each way that a peer can be used', () => {
    const rows = page(sectionsOf(read(results)));
    expect(rows).toMatch(/pg-boss, no-op .* 300 \| +200 – 400 \| +0\.33 \(0\.25 – 0\.50\) \|/);
    expect(rows).toMatch(/pg-boss, plain .* 2\.00 \(2\.00 – 2\.00\) \|/);
    expect(rows).toMatch(/pg-boss, batches by hand .* 0\.50 \(0\.50 – 0\.50\) \|/);
    expect(rows).toContain('Syncline reaches 60 % of that.');
  });

  it('says plainly which goals were missed', () => {
    const verdicts = [...page(sectionsOf(read(results))).matchAll(/\| +([\d.]+) \| +(met|MISSED) \|$/gm)];
    expect(verdicts.map(([, found, verdict]) => [found, verdict])).toEqual([
      ['1.20', 'met'],
      ['2.00', 'MISSED'],
      ['25.0', 'MISSED'],
      ['0.95', 'met'],
    ]);
  });

  it('says plainly where a peer is better, and does not where it is not', () => {
    const better = sectionsOf(read(results)).flatMap(({ betterPeers = [] }) => betterPeers);
    expect(better).toEqual([
      'pg-boss runs jobs that do nothing 3.0 times as fast as Syncline runs complete syncs.',
      'pg-boss, batches by hand, does the same syncs 2.0 times as fast: 500 jobs succeed or fail together.',
      'With 1,000 schedules, pg-boss takes 5.0 ms to place 100 that are due; Syncline takes 10.0 ms.',
    ]);
  });
});
