/** Draws charts as SVG files that are readable on light and dark pages. */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import type { BarChart, Chart, LineChart } from './report/section.ts';
import { whole } from './tools/text.ts';

const { document } = parseHTML('<html></html>');
/** At least 3:1 against both backgrounds. */
const colors = ['#1f83d6', '#d9601a', '#2f9e73', '#c465a0', '#7f7f92', '#8a8f2a'];
/** An image has no access to the styles of the page, so the file selects its theme. */
const style = `svg{background:#fff;color:#1f2328}@media(prefers-color-scheme:dark){svg{background:#151b23;color:#f0f6fc}}`;

const figure = (value: number) => (value >= 100 ? whole(value) : String(Number(value.toPrecision(3))));
const colorOf = ({ color }: { color: number }) => colors[color % colors.length] as string;
const bold = { textAnchor: 'start', fontWeight: 600 } as const;
const axis = (label: string) => ({ label, labelAnchor: 'center', labelArrow: 'none' }) as const;

type Point = LineChart['lines'][number]['points'][number];

export function drawChart(chart: Chart): string {
  const { marks = [], ...options } = 'bars' in chart ? bars(chart) : lines(chart);
  const at = { frameAnchor: 'top-left', textAnchor: 'start', dx: 16 - (options.marginLeft ?? 0) } as const;
  const svg = Plot.plot({
    document,
    width: 760,
    marginTop: 72,
    marginBottom: 44,
    style: { fontSize: '13px' },
    ...options,
    marks: [
      Plot.text([chart.title], { ...at, dy: -52, fontSize: 17, fontWeight: 600 }),
      Plot.text([chart.subtitle], { ...at, dy: -28, fillOpacity: 0.75 }),
      ...marks,
    ],
  });
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  svg.setAttribute('role', 'img');
  return `${svg.outerHTML
    .replace(/<style>.*?<\/style>/s, `<title>${chart.title}</title><style>${style}</style>`)
    .replaceAll(/-?\d+\.\d{2,}/g, (number: string) => String(Math.round(Number(number) * 10) / 10))}\n`;
}

function bars({ bars: data, unit }: BarChart): Plot.PlotOptions {
  const cap = { y: 'label', insetTop: 7, insetBottom: 7 };
  return {
    marginLeft: 250,
    marginRight: 70,
    height: 130 + data.length * 30,
    x: { ...axis(unit), grid: true, zero: true },
    y: { label: null, domain: data.map(({ label }) => label), tickSize: 0 },
    marks: [
      Plot.barX(data, { x: 'value', y: 'label', fill: colorOf }),
      Plot.ruleY(data, { x1: 'min', x2: 'max', y: 'label', strokeWidth: 1.5 }),
      Plot.tickX(data, { x: 'min', ...cap }),
      Plot.tickX(data, { x: 'max', ...cap }),
      Plot.text(data, { x: 'max', y: 'label', text: ({ value }) => figure(value), dx: 6, ...bold }),
      Plot.ruleX([0]),
    ],
  };
}

function lines({ lines: data, x, isLog = false }: LineChart): Plot.PlotOptions {
  const points = data.flatMap(({ points: own, ...line }) => own.map((point) => ({ ...point, ...line })));
  const [min, max] = [(point: Point) => point.min ?? point.y, (point: Point) => point.max ?? point.y];
  const lastOf = ({ points: own }: (typeof data)[number]) => own.at(-1)?.y ?? 0;
  const legend = data
    .toSorted((a, b) => lastOf(b) - lastOf(a))
    .map((line, i) =>
      Plot.text([`${line.name}: ${figure(lastOf(line))}`], {
        ...bold,
        frameAnchor: 'top-right',
        dx: 14,
        dy: i * 20,
        fill: colorOf(line),
      }),
    );
  const scale = (values: number[]) =>
    isLog
      ? ({ type: 'log', nice: true, ticks: powersOfTen(values), tickFormat: figure } as const)
      : { ticks: 8, tickFormat: figure };
  return {
    marginLeft: 64,
    marginRight: 240,
    height: 380,
    x: { ...axis(x), ...scale(points.map((point) => point.x)) },
    y: { label: null, grid: true, zero: !isLog, nice: true, ...scale(points.map((point) => point.y)) },
    marks: [
      Plot.areaY(points, { x: 'x', y1: min, y2: max, z: 'name', fill: colorOf, fillOpacity: 0.18 }),
      Plot.lineY(points, { x: 'x', y: 'y', z: 'name', stroke: colorOf, strokeWidth: 2.25 }),
      points.length > 60 ? null : Plot.dot(points, { x: 'x', y: 'y', fill: colorOf, r: 3.5 }),
      ...legend,
    ],
  };
}

function powersOfTen(values: number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.ceil(Math.log10(Math.max(...values)));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}
