import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Comparison, Timing } from '../../bench/comparison/comparison.ts';
import type { GrowthResult } from '../../bench/growth/measure.ts';
import type { LatencyResult } from '../../bench/latency/measure.ts';
import type { ManySchedulesResult } from '../../bench/many-schedules/measure.ts';
import { benchmarksPage } from '../../bench/report/page.ts';
import { type Environment, readResult } from '../../bench/tools/results.ts';

const measuredOn: Environment = {
  node: '24.0.0',
  postgres: '18.0',
  cores: 2,
  cpu: 'a processor',
  memoryGb: 8,
  loadBefore: 0.1,
  settings: { fsync: 'on' },
  peers: { 'pg-boss': '1.2.3' },
};

function comparison(rates: Record<string, Record<string, number[]>>): Comparison {
  const timings = (round: number): Timing[] =>
    Object.entries(rates).flatMap(([subject, variants]) =>
      Object.entries(variants).map(([variant, values]) => ({
        subject,
        variant,
        processes: 2,
        order: 'concurrent',
        totalMs: 1000,
        perSecond: values[round] ?? Number.NaN,
      })),
    );
  return { jobs: 1000, rounds: [timings(0), timings(1), timings(2)] };
}

const schedules: ManySchedulesResult = {
  due: 100,
  ticks: [
    { connections: 1000, nothingDueMs: [1, 1, 1], someDueMs: [10, 10, 10] },
    { connections: 100_000, nothingDueMs: [1.2, 1.2, 1.2], someDueMs: [20, 20, 20] },
  ],
  lag: { perSecond: 200, seconds: 5 },
  lags: [
    [
      { p50Ms: 20, p99Ms: 40 },
      { p50Ms: 20, p99Ms: 40 },
    ],
  ],
  peers: [
    {
      peer: 'pg-boss',
      schedules: 1000,
      rounds: [{ schedules: 1000, passMs: [5], lagsMs: [900] }],
    },
    {
      peer: 'pg-boss',
      schedules: 100_000,
      rounds: [],
      stopped: 'no result after 200 s.',
    },
  ],
};

const samples = [{ acknowledgedMs: 1, startedMs: 25, visibleMs: 30, deliveredMs: 200 }];
const latency: LatencyResult = {
  idle: { samples },
  load: {
    part: 0.8,
    syncsPerSecond: 4000,
    lagMs: { p50: 10, p99: 60 },
    samples,
  },
};

const minute = { variant: 'plain' as const, referencePerSecond: 1, waiting: 1, claimMs: 2, tables: [] };
const growth: GrowthResult = {
  scale: {
    minutes: 2,
    warmUpMinutes: 0,
    comparedMinutes: 1,
    heldMinutes: 2,
    connections: 10,
    processes: 2,
    retentionMinutes: 1,
  },
  minutes: [
    { ...minute, minute: 1, syncsPerSecond: 1000 },
    { ...minute, minute: 2, syncsPerSecond: 950 },
  ],
};

const results: Record<string, object> = {
  'bare-jobs': comparison({
    Syncline: { sync: [100, 100, 100] },
    'graphile-worker': { 'no-op': [100, 100, 100] },
    'pg-boss': { 'no-op': [400, 200, 300] },
  }),
  'real-job': comparison({
    Syncline: { sync: [100, 100, 100] },
    'pg-boss': { plain: [50, 50, 50], batches: [200, 200, 200] },
  }),
  limit: comparison({ Syncline: { sync: [60, 60, 60] }, 'SQL only': { procedures: [100, 120, 80] } }),
  'many-schedules': schedules,
  latency,
  growth,
};

const pageOf = () => benchmarksPage((name) => ({ measuredOn, ...results[name] }));
const docs = new URL('../../docs/', import.meta.url);

describe('docs/benchmarks.md', () => {
  it('benchmarks: the page is the output of the report for the recorded results', () => {
    const { text, charts } = benchmarksPage(readResult);
    expect(readFileSync(new URL('benchmarks.md', docs), 'utf8')).toBe(text);
    const files = Object.keys(charts).map((name) => `${name}.svg`);
    expect(readdirSync(new URL('benchmarks/', docs)).toSorted()).toEqual(files.toSorted());
  });

  it('benchmarks: shows a chart of each measurement and only numbers', () => {
    const { text, charts } = pageOf();
    const shown = [...text.matchAll(/\(benchmarks\/(.*)\.svg\)/g)].map((match) => match[1]);
    expect(shown).toEqual(Object.keys(charts));
    expect(shown.toSorted()).toEqual(Object.keys(results).toSorted());
    expect(text + JSON.stringify(charts)).not.toMatch(/NaN|undefined|Infinity|null|\{\{/);
  });

  it('benchmarks: compares rates of the same round for each variant of a peer', () => {
    const { text: rows } = pageOf();
    expect(rows).toMatch(/pg-boss, no-op .* 300 \| +200 – 400 \| +0\.33 \(0\.25 – 0\.50\) \|/);
    expect(rows).toMatch(/pg-boss, plain .* 2\.00 \(2\.00 – 2\.00\) \|/);
    expect(rows).toMatch(/pg-boss, batches .* 0\.50 \(0\.50 – 0\.50\) \|/);
    expect(rows).toContain('Syncline reaches 60 % of their rate.');
  });

  it('benchmarks: states which goals were missed', () => {
    const verdicts = [...pageOf().text.matchAll(/\| +([\d.]+) \| +(met|MISSED) \|$/gm)];
    expect(verdicts.map(([, found, verdict]) => [found, verdict])).toEqual([
      ['1.20', 'met'],
      ['2.00', 'MISSED'],
      ['25.0', 'MISSED'],
      ['0.95', 'met'],
    ]);
  });

  it('benchmarks: lists the results where a peer is faster', () => {
    const faster = pageOf().sections.flatMap(({ fasterPeers = [] }) => fasterPeers);
    expect(faster).toEqual([
      'pg-boss runs empty jobs 3.0 times as fast as Syncline runs complete syncs.',
      'pg-boss, batches, runs the same syncs 2.0 times as fast.',
      'With 1,000 schedules, pg-boss schedules 100 due jobs in 5.0 ms, Syncline in 10.0 ms.',
    ]);
  });
});
