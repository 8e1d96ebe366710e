import { useMemo } from 'preact/hooks';
import { compact, duration, number, plural, seconds, shortDuration } from '../format.ts';
import type { Load, Series, SeriesPoint } from '../types.ts';
import { Chart, type Line } from './chart.tsx';
import { Panel } from './page.tsx';

const roundSeconds = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800,
  604_800,
];
const roundMs = [1, 2, 5, 10, 20, 50, 100, 200, 500, ...roundSeconds.map((step) => step * 1000)];

type CountName = 'succeeded' | 'failed' | 'retried' | 'signals';

export function SeriesCharts({ series }: { series: Series }) {
  const { times, syncs, signals, freshness, lag } = useMemo(() => linesOf(series), [series]);
  const points = plural(series.points.length, 'data point');
  return (
    <div class="charts">
      <Panel title="Syncs per minute">
        <Chart
          kind="bars"
          label={`Syncs per minute, ${points}. Total: ${totalsText(series.points)}`}
          times={times}
          lines={syncs}
          axis={compact}
          exact={compact}
        />
      </Panel>
      <Panel title="Signals per minute">
        <Chart
          kind="lines"
          label={`Signals per minute, ${points}. Total: ${number(sum(series.points, 'signals'))}`}
          times={times}
          lines={signals}
          axis={compact}
          exact={compact}
        />
      </Panel>
      <Panel title="Freshness" note="age of the data just before a run refreshes it">
        <Chart
          kind="lines"
          label={`Freshness over time; ${latestText(freshness, (value) => seconds(value))}`}
          times={times}
          lines={freshness}
          axis={(value) => shortDuration(value * 1000)}
          exact={seconds}
          steps={roundSeconds}
        />
      </Panel>
      <Panel title="Start lag" note="delay between due time and start">
        <Chart
          kind="lines"
          label={`Start lag over time; ${latestText(lag, duration)}`}
          times={times}
          lines={lag}
          axis={shortDuration}
          exact={duration}
          steps={roundMs}
        />
      </Panel>
    </div>
  );
}

export function LoadChart({ load }: { load: Load }) {
  const { times, lines } = useMemo(() => {
    const runs: Line = { name: 'runs', tone: 'accent', values: load.minutes.map(({ runs }) => runs) };
    return { times: load.minutes.map(({ at }) => Date.parse(at) / 1000), lines: [runs] };
  }, [load]);
  const maxRuns = load.minutes.reduce((max, { runs }) => Math.max(max, runs), 0);
  return (
    <Chart
      kind="bars"
      label={`Expected runs per minute, next ${load.minutes.length} minutes, at most ${number(maxRuns)}`}
      times={times}
      lines={lines}
      axis={compact}
      exact={number}
    />
  );
}

function linesOf({ points, step_seconds }: Series) {
  const perMinute = (name: CountName) => points.map((point) => (point[name] * 60) / step_seconds);
  const syncs: Line[] = [
    { name: 'succeeded', tone: 'good', values: perMinute('succeeded') },
    { name: 'retried', tone: 'warn', values: perMinute('retried') },
    { name: 'failed', tone: 'bad', values: perMinute('failed') },
  ];
  const signals: Line[] = [{ name: 'signals', tone: 'accent', values: perMinute('signals') }];
  const freshness: Line[] = [
    { name: 'p50', tone: 'info', values: points.map((point) => point.freshness_p50_seconds) },
    { name: 'p95', tone: 'warn', values: points.map((point) => point.freshness_p95_seconds), dashed: true },
  ];
  const lag: Line[] = [
    { name: 'p50', tone: 'info', values: points.map((point) => point.lag_p50_ms) },
    { name: 'p95', tone: 'warn', values: points.map((point) => point.lag_p95_ms), dashed: true },
  ];
  return { times: points.map(({ at }) => Date.parse(at) / 1000), syncs, signals, freshness, lag };
}

function sum(points: SeriesPoint[], name: CountName): number {
  return points.reduce((total, point) => total + point[name], 0);
}

function totalsText(points: SeriesPoint[]): string {
  const names = ['succeeded', 'retried', 'failed'] as const;
  return names.map((name) => `${number(sum(points, name))} ${name}`).join(', ');
}

function latestText(lines: Line[], exact: (value: number | null | undefined) => string): string {
  return lines
    .map(({ name, values }) => `${name} ${exact(values.findLast((value) => value !== null))}`)
    .join(', ');
}
