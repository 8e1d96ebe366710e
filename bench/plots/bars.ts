import {
  axisBelow,
  card,
  colourOf,
  fontSize,
  lineHeight,
  padding,
  px,
  type Titles,
  text,
  titles,
  width,
} from './frame.ts';
import { type Scale, scaleOf, spreadOf } from './scale.ts';
import { type Format, figure, orNotMeasured, textWidth, wrap } from './words.ts';

interface Bar {
  label: string;
  value: number;
  least?: number;
  most?: number;
  /** Which of the colours; bars of the same label share one unless told otherwise. */
  colour?: number;
}

export interface BarsPlot extends Titles {
  /** What the values count, such as `jobs/s`. */
  unit: string;
  groups: { label?: string; bars: Bar[] }[];
  format?: Format;
}

const barHeight = 18;
const widestLabel = 230;

/** Horizontal bars from zero, each with its value, and a whisker from its least to its most. */
export function barsPlot(plot: BarsPlot): string {
  const { unit, groups } = plot;
  const format = orNotMeasured(plot.format ?? figure);
  const all = groups.flatMap(({ bars }) => bars);
  const widest = (texts: string[], size: number) => Math.max(0, ...texts.map((one) => textWidth(one, size)));
  const left =
    padding +
    10 +
    Math.min(
      widestLabel,
      widest(
        all.map(({ label }) => label),
        fontSize,
      ),
    );
  const right =
    width -
    padding -
    10 -
    widest(
      all.map(({ value }) => format(value)),
      fontSize + 1,
    );
  const scale = scaleOf({
    values: all.flatMap((bar) => [bar.value, ...edges(bar)]),
    kind: 'linear',
    from: left,
    to: right,
    zero: true,
  });
  const labels = [...new Set(all.map(({ label }) => label))];

  const head = titles(plot);
  const top = head.bottom + 4;
  let y = top + 8;
  let rows = '';
  for (const { label, bars } of groups) {
    for (const line of wrap(label ?? '', fontSize + 1, width - 2 * padding)) {
      rows += text(padding, y + 12, line, 'group value');
      y += 22;
    }
    for (const bar of bars) {
      const lines = wrap(bar.label, fontSize, left - padding - 10);
      const height = Math.max(barHeight, lines.length * lineHeight);
      const middle = y + height / 2;
      const firstLine = middle - ((lines.length - 1) * lineHeight) / 2 + 4.5;
      rows += lines.map((line, i) => text(left - 10, firstLine + i * lineHeight, line, '', 'end')).join('');
      rows += drawBar(bar, middle, scale, bar.colour ?? labels.indexOf(bar.label), format);
      y += height + 8;
    }
    y += 8;
  }
  const bottom = Math.max(y - 8, top + 20);
  const axis = `<path class="axis" d="M${px(scale.at(0))} ${px(top)}V${px(bottom)}"/>`;
  const grid = axisBelow(scale, { left, right, top, bottom }, unit);
  const description = groups.flatMap(({ label, bars }) =>
    bars.map((bar) => `${label ? `${label}, ` : ''}${inWords(bar, unit, format)}`),
  );
  return card(plot, description, bottom + 38 + padding, head.body + grid + axis + rows);
}

const edges = ({ value, least, most }: Bar) => spreadOf(value, least, most);

function drawBar(bar: Bar, middle: number, scale: Scale, colour: number, format: Format): string {
  const { value } = bar;
  const [least, most] = edges(bar);
  const start = scale.at(0);
  if (!Number.isFinite(value)) return text(start + 8, middle + 4.5, format(value), 'muted');
  const [from, to] = [Math.min(start, scale.at(value)), Math.max(start, scale.at(value))];
  // However little it is: it is not nothing.
  const length = value === 0 ? 0 : Math.max(1.5, to - from);
  const top = middle - barHeight / 2;
  let drawn = `<rect class="${colourOf(colour).fill}" x="${px(from)}" y="${px(top)}" width="${px(length)}" height="${barHeight}" rx="1.5"/>`;
  if (most > least) {
    const cap = (x: number) => `M${px(x)} ${px(middle - 4)}v8`;
    const path = `${cap(scale.at(least))}${cap(scale.at(most))}M${px(scale.at(least))} ${px(middle)}H${px(scale.at(most))}`;
    drawn += `<path class="halo" d="${path}"/><path class="whisker" d="${path}"/>`;
  }
  return drawn + text(Math.max(to, scale.at(most)) + 8, middle + 4.5, format(value), 'value');
}

function inWords(bar: Bar, unit: string, format: Format): string {
  const [least, most] = edges(bar);
  const spread = most > least ? ` (least ${format(least)}, most ${format(most)})` : '';
  const counted = Number.isFinite(bar.value) ? ` ${unit}` : '';
  return `${bar.label}: ${format(bar.value)}${counted}${spread}.`;
}
