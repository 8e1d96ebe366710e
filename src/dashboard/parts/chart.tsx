import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { colour, repaint } from '../theme.ts';

export interface Line {
  name: string;
  tone: string;
  values: (number | null)[];
  dashed?: boolean;
}

interface Props {
  label: string;
  /** Unix time in seconds. */
  times: number[];
  lines: Line[];
  kind: 'lines' | 'bars';
  axis: (value: number) => string;
  exact: (value: number | null | undefined) => string;
  /** If powers of ten do not fit. */
  steps?: number[];
}

const height = 160;

export function Chart(props: Props) {
  const { label, times, lines, kind, exact } = props;
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const hoveredIndex = useSignal<number | null>(null);

  useSignalEffect(() => {
    repaint.value;
    const element = container.current;
    if (!element) return;
    const created = new uPlot(
      optionsFor(latest.current, element, (index) => {
        hoveredIndex.value = index;
      }),
      dataOf(latest.current),
      element,
    );
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = undefined;
    };
  });

  useEffect(() => {
    plot.current?.setData(dataOf({ times, lines, kind }));
  }, [times, lines, kind]);

  const index = hoveredIndex.value;
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
      <div ref={container} class="chart-place" role="img" aria-label={label} />
    </figure>
  );
}

function timeLabel(atSeconds: number | undefined): string {
  if (atSeconds === undefined) return '';
  const options = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const;
  return new Date(atSeconds * 1000).toLocaleString('en-GB', options);
}

/** Cumulative, tallest first. */
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
  onHover: (index: number | null) => void,
): uPlot.Options {
  const grid = { stroke: colour('line', element), width: 1 };
  const text = { stroke: colour('text-2', element), font: '11px system-ui, sans-serif' };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines', size: 6 } },
    hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
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

/** Bars extend right of their time. */
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
    points: { show: true, size: 4, fill: colour(line.tone, element), filter: isolatedPoints },
    ...(line.dashed ? { dash: [5, 4] } : { fill: colour(`${line.tone}-wash`, element) }),
    ...(paths ? { paths } : {}),
  };
}

/** Without neighbours, draw dots. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const hasValue = (index: number) => typeof values[index] === 'number';
  return Array.from(values, (_, index) => index).filter(
    (index) => hasValue(index) && !hasValue(index - 1) && !hasValue(index + 1),
  );
}

function clockTicks(_plot: uPlot, ticks: number[]): string[] {
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const midnight = date.getHours() === 0 && date.getMinutes() === 0;
    return midnight
      ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
      : date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  });
}
