import { drawEndLabels, endLabel, widthOf } from './end-labels.ts';
import { axisBelow, axisBeside, card, colourOf, padding, px, type Titles, titles, width } from './frame.ts';
import { type Scale, scaleOf, spreadOf } from './scale.ts';
import { type Format, figure, orNotMeasured, shortFigure, textWidth } from './words.ts';

interface Point {
  x: number;
  y: number;
  least?: number;
  most?: number;
}

interface Series {
  name: string;
  /** Those without a finite value are left out. */
  points: Point[];
  /** Which of the colours; that of its place among the series unless told otherwise. */
  colour?: number;
}

interface Axis {
  label: string;
  kind?: 'linear' | 'log';
  /** For the values at the ends of the lines and in the description. */
  format?: Format;
}

export interface LinesPlot extends Titles {
  x: Axis;
  y: Axis;
  series: Series[];
}

const shortest = 270;
/** Of all series together: as many as can be told apart at this width, in a file that stays small. */
const mostPoints = 240;
const mostMarkers = 24;
const mostInWords = 8;

/** Lines through points, each with its name and last value at its end, in a band from least to most. */
export function linesPlot(plot: LinesPlot): string {
  const { x, y } = plot;
  const format = orNotMeasured(y.format ?? figure);
  const known = plot.series.map((series) => ({ ...series, points: knownPoints(series.points) }));
  const labels = known.map(({ name, points }) => endLabel(name, format(points.at(-1)?.y ?? Number.NaN)));
  const drawn = known.map((series, i) => ({
    colour: series.colour ?? i,
    points: thin(series.points, Math.floor(mostPoints / known.length)),
  }));
  const points = drawn.flatMap((series) => series.points);

  const head = titles(plot);
  const top = head.bottom + 34;
  const bottom =
    top +
    Math.max(
      shortest,
      labels.reduce((sum, { height }) => sum + height, 0),
    );
  const values = points.flatMap((point) => [point.y, ...edges(point)]);
  const up = scaleOf({ values, kind: y.kind ?? 'linear', from: bottom, to: top, zero: true, round: true });
  const left = padding + 8 + Math.max(...up.ticks.map((tick) => textWidth(shortFigure(tick), 12)));
  const right = width - padding - 28 - widthOf(labels);
  const along = scaleOf({
    values: points.map((point) => point.x),
    kind: x.kind ?? 'linear',
    from: left + 12,
    to: right - 8,
  });
  for (const [i, label] of labels.entries()) {
    const last = drawn[i]?.points.at(-1);
    if (last) label.end = { x: along.at(last.x), y: up.at(last.y) };
  }

  const area = { left, right, top, bottom };
  const body = [
    head.body,
    axisBelow(along, area, x.label),
    axisBeside(up, area, y.label),
    `<path class="axis" d="M${px(left)} ${px(bottom)}H${px(right)}"/>`,
    ...drawn.map((series) => drawBand(series.points, series.colour, along, up)),
    ...drawn.map((series) => drawLine(series.points, series.colour, along, up)),
    drawEndLabels(
      labels,
      drawn.map(({ colour }) => colour),
      area,
    ),
  ];
  const description = [`${y.label}, by ${x.label}.`, ...known.map((series) => inWords(series, plot))];
  return card(plot, description, bottom + 38 + padding, body.join(''));
}

function knownPoints(points: Point[]): Point[] {
  const known = points.filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  return known.toSorted((one, other) => one.x - other.x);
}

const edges = ({ y, least, most }: Point) => spreadOf(y, least, most);

/** Keeps the least and the most of every stretch, so that no peak is lost, and the first and last of all. */
function thin(points: Point[], most: number): Point[] {
  if (points.length <= most) return points;
  const stretch = Math.ceil((points.length - 2) / Math.floor((most - 2) / 2));
  const kept = new Set([points[0], points.at(-1)]);
  for (let start = 1; start < points.length - 1; start += stretch) {
    const sorted = points
      .slice(start, Math.min(start + stretch, points.length - 1))
      .toSorted((a, b) => a.y - b.y);
    kept.add(sorted[0]).add(sorted.at(-1));
  }
  return points.filter((point) => kept.has(point));
}

function drawBand(points: Point[], colour: number, along: Scale, up: Scale): string {
  if (points.every((point) => edges(point)[0] === edges(point)[1])) return '';
  const place = (point: Point, edge: 0 | 1) => `${px(along.at(point.x))} ${px(up.at(edges(point)[edge]))}`;
  const outline = [
    ...points.map((point) => place(point, 0)),
    ...points.toReversed().map((point) => place(point, 1)),
  ];
  return `<path class="band ${colourOf(colour).fill}" d="M${outline.join('L')}Z"/>`;
}

function drawLine(points: Point[], colour: number, along: Scale, up: Scale): string {
  if (points.length === 0) return '';
  const { fill, stroke } = colourOf(colour);
  const places = points.map((point) => ({ x: px(along.at(point.x)), y: px(up.at(point.y)) }));
  const line = `<path class="line ${stroke}" d="M${places.map((place) => `${place.x} ${place.y}`).join('L')}"/>`;
  if (points.length > mostMarkers) return line;
  return (
    line +
    places.map((place) => `<circle class="point ${fill}" cx="${place.x}" cy="${place.y}" r="4"/>`).join('')
  );
}

/** Every point of a short series; of a long one where it begins, its least, its most, and where it ends. */
function inWords({ name, points }: Series, { x, y }: LinesPlot): string {
  const [formatX, formatY] = [x.format ?? figure, orNotMeasured(y.format ?? figure)];
  const say = (point: Point) => `${formatY(point.y)} at ${formatX(point.x)}`;
  if (points.length === 0) return `${name}: ${formatY(Number.NaN)}.`;
  if (points.length <= mostInWords) return `${name}: ${points.map(say).join(', ')}.`;
  const sorted = points.toSorted((one, other) => one.y - other.y);
  const [first, last, least, most] = [points[0], points.at(-1), sorted[0], sorted.at(-1)] as [
    Point,
    Point,
    Point,
    Point,
  ];
  return `${name}: from ${say(first)} to ${say(last)}, least ${say(least)}, most ${say(most)}.`;
}
