import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colour, repaint } from '../theme.ts';

export interface Line {
  name: string;
  /** The name of a custom property that holds its colour. */
  tone: string;
  values: (number | null)[];
  dashed?: boolean;
}

interface Props {
  /** What is shown, for those who cannot see it. */
  label: string;
  /** In seconds since 1970. */
  times: number[];
  lines: Line[];
  /** Lines, or bars that stand on each other in the order of the lines. */
  kind: 'lines' | 'bars';
  axis: (value: number) => string;
  exact: (value: number | null | undefined) => string;
  /** Round distances between the lines of the grid, where powers of ten are not. */
  steps?: number[];
}

const height = 160;

/** A chart over time with a legend that follows the pointer. New data moves it; nothing is built again. */
export function Chart(props: Props) {
  const { label, times, lines, kind, exact } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const pointed = useSignal<number | null>(null);

  useSignalEffect(() => {
    repaint.value;
    const element = place.current;
    if (!element) return;
    const made = new uPlot(
      optionsFor(latest.current, element, (index) => {
        pointed.value = index;
      }),
      dataOf(latest.current),
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  });

  useEffect(() => {
    plot.current?.setData(dataOf({ times, lines, kind }));
  }, [times, lines, kind]);

  const index = pointed.value;
  return (
    <figure class="chart">
      <figcaption class="legend">
        {lines.map(({ name, tone, values, dashed }) => (
          <span key={name} class="legend-item">
            <i class={dashed ? 'dashed' : ''} style={{ '--tone': `var(--${tone})` }} />
            {name}
            <b class="num">{index === null ? '' : exact(values[index])}</b>
          </span>
        ))}
        <span class="legend-time num">{timeLabel(index === null ? undefined : times[index])}</span>
      </figcaption>
      <div ref={place} class="chart-place" role="img" aria-label={label} />
    </figure>
  );
}

function timeLabel(atSeconds: number | undefined): string {
  if (atSeconds === undefined) return '';
  const options = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const;
  return new Date(atSeconds * 1000).toLocaleString('en-GB', options);
}

/** Bars are drawn over each other, tallest first: each stands for itself and all that come after it. */
function dataOf({ times, lines, kind }: Pick<Props, 'times' | 'lines' | 'kind'>): uPlot.AlignedData {
  if (kind === 'lines') return [times, ...lines.map(({ values }) => values)];
  const stacked = lines.map((_, from) =>
    times.map((_, at) => lines.slice(from).reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  return [times, ...stacked];
}

function optionsFor(
  { lines, kind, axis, steps }: Props,
  element: HTMLElement,
  point: (index: number | null) => void,
): uPlot.Options {
  const grid = { stroke: colour('line', element), width: 1 };
  const text = { stroke: colour('text-2', element), font: '11px system-ui, sans-serif' };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines', size: 6 } },
    hooks: { setCursor: [({ cursor }) => point(cursor.idx ?? null)] },
    scales: {
      x: { time: true, range: (plot, min, max) => [min, kind === 'bars' ? max + stepOf(plot.data[0]) : max] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...text,
        grid: { show: false },
        ticks: { ...grid, size: 4 },
        size: 28,
        gap: 4,
        space: 64,
        values: clockTicks,
      },
      {
        ...text,
        grid,
        ticks: { show: false },
        size: 52,
        gap: 6,
        space: 28,
        ...(steps ? { incrs: steps } : {}),
        values: (_plot, ticks) => ticks.map(axis),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: colour(line.tone, element),
        ...(kind === 'bars' ? barStyle(line, element) : lineStyle(line, element)),
      })),
    ],
  };
}

/** A bar stands to the right of its time, so the last one needs room. */
function stepOf(times: ArrayLike<number>): number {
  return (times[1] ?? 0) - (times[0] ?? 0);
}

function barStyle(line: Line, element: HTMLElement): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.8, 14], align: 1 });
  return {
    fill: colour(line.tone, element),
    width: 0,
    points: { show: false },
    ...(paths ? { paths } : {}),
  };
}

function lineStyle(line: Line, element: HTMLElement): uPlot.Series {
  const paths = uPlot.paths.linear?.();
  return {
    width: 1.5,
    points: { show: true, size: 4, fill: colour(line.tone, element), filter: lonely },
    ...(line.dashed ? { dash: [5, 4] } : { fill: colour(`${line.tone}-wash`, element) }),
    ...(paths ? { paths } : {}),
  };
}

/** A value without neighbours makes no line; it is drawn as a dot. */
function lonely(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isThere = (index: number) => typeof values[index] === 'number';
  return Array.from(values, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}

/** 14:05 within a day, 3 Mar where a tick begins one. */
function clockTicks(_plot: uPlot, ticks: number[]): string[] {
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const midnight = date.getHours() === 0 && date.getMinutes() === 0;
    return midnight
      ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
      : date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  });
}
