import fc from 'fast-check';
import { Parser } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { type BarsPlot, barsPlot } from '../../bench/plots/bars.ts';
import { type LinesPlot, linesPlot } from '../../bench/plots/lines.ts';
import { scaleOf } from '../../bench/plots/scale.ts';
import { figure, shortFigure, textWidth, wrap } from '../../bench/plots/words.ts';

interface Element {
  name: string;
  attributes: Record<string, string>;
  text: string;
}

function elementsOf(svg: string): Element[] {
  const elements: Element[] = [];
  const open: Element[] = [];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const element = { name, attributes, text: '' };
        elements.push(element);
        open.push(element);
      },
      ontext(text) {
        const element = open.at(-1);
        if (element) element.text += text;
      },
      onclosetag() {
        open.pop();
      },
    },
    { xmlMode: true },
  );
  parser.end(svg);
  return elements;
}

function textsOf(svg: string, name = ''): Element[] {
  const classes = ({ attributes }: Element) => attributes['class'] ?? '';
  return elementsOf(svg).filter((one) => one.name === 'text' && classes(one).includes(name));
}

const said = (svg: string) => elementsOf(svg).find(({ name }) => name === 'desc')?.text;

const bars: BarsPlot = {
  title: 'Jobs',
  unit: 'jobs/s',
  groups: [
    {
      label: 'One process',
      bars: [
        { label: 'Syncline', value: 12_345, least: 11_000, most: 13_000 },
        { label: 'other', value: 3 },
      ],
    },
    {
      label: 'Four',
      bars: [
        { label: 'Syncline', value: 12_344 },
        { label: 'other', value: Number.NaN },
      ],
    },
  ],
};

const lines: LinesPlot = {
  title: 'Ticks',
  x: { label: 'schedules', kind: 'log' },
  y: { label: 'ms' },
  series: [
    { name: 'Syncline', points: [1000, 10_000].map((x) => ({ x, y: 1.25, least: 1, most: 2 })) },
    { name: 'other', points: [1000, 10_000].map((x) => ({ x, y: x / 100 })) },
  ],
};

const moderate = fc.oneof(fc.constantFrom(0, 1, -1), fc.double({ min: 1e-6, max: 1e9, noNaN: true }));
const anything = fc.oneof(moderate, fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY), fc.integer());
const kinds = fc.constantFrom('linear' as const, 'log' as const);

describe('every plot', () => {
  const hostile = '</text><script>alert("&amp;")</script>\u0000\ud800 \'';

  it('shows text as it is, whatever is in it', () => {
    const plots = [
      barsPlot({
        ...bars,
        title: hostile,
        groups: [{ label: hostile, bars: [{ label: hostile, value: 1 }] }],
      }),
      linesPlot({ ...lines, title: hostile, series: [{ name: hostile, points: [{ x: 1, y: 1 }] }] }),
    ];
    for (const svg of plots) {
      expect(svg).not.toMatch(/<script|\0|\p{Cs}/u);
      const elements = elementsOf(svg);
      expect(new Set(elements.map(({ name }) => name)).has('script')).toBe(false);
      expect(elements.find(({ name }) => name === 'title')?.text).toContain(
        '<script>alert("&amp;")</script>',
      );
    }
  });

  it('says its figures in words', () => {
    expect(said(barsPlot(bars))).toBe(
      'One process, Syncline: 12,345 jobs/s (least 11,000, most 13,000). One process, other: 3 jobs/s. ' +
        'Four, Syncline: 12,344 jobs/s. Four, other: not measured.',
    );
    expect(said(linesPlot(lines))).toBe(
      'ms, by schedules. Syncline: 1.25 at 1,000, 1.25 at 10,000. other: 10 at 1,000, 100 at 10,000.',
    );
  });

  it('has colours for dark pages, that stand out as on light ones', () => {
    const [light, dark] = barsPlot(bars).split('prefers-color-scheme:dark') as [string, string];
    for (const rules of [light, dark]) {
      const of = (name: string) => rules.match(new RegExp(`\\${name}\\{fill:(#[\\da-f]{6})`))?.[1] as string;
      for (let i = 0; i < 6; i++) expect(contrast(of(`.c${i}`), of('.card'))).toBeGreaterThan(3);
      const muted = rules.match(/\.muted,\.tick\{fill:(#[\da-f]{6})/)?.[1] as string;
      expect(contrast(muted, of('.card'))).toBeGreaterThan(4.5);
    }
  });

  it('is the same each time, and draws only numbers, whatever the values', () => {
    const point = fc.record({ x: anything, y: anything, least: anything, most: anything });
    const bar = fc.record({ label: fc.string(), value: anything, least: anything, most: anything });
    fc.assert(
      fc.property(
        fc.array(fc.array(point)),
        fc.array(fc.array(bar)),
        kinds,
        kinds,
        (series, groups, x, y) => {
          const draw = () => [
            linesPlot({
              title: '',
              x: { label: '', kind: x },
              y: { label: '', kind: y },
              series: series.map((points) => ({ name: 'some', points })),
            }),
            barsPlot({ title: '', unit: '', groups: groups.map((bars) => ({ bars })) }),
          ];
          expect(draw()).toEqual(draw());
          for (const { attributes } of draw().flatMap(elementsOf))
            expect(Object.values(attributes).join(' ')).not.toMatch(/NaN|Infinity|undefined/);
        },
      ),
    );
  });

  it('stays small, however much was measured', () => {
    const points = Array.from({ length: 5000 }, (_, x) => ({ x, y: x % 97, least: 0, most: 100 }));
    const series = Array.from({ length: 6 }, (_, i) => ({ name: `contender ${i}`, points }));
    expect(linesPlot({ ...lines, series }).length).toBeLessThan(15_000);
  });
});

describe('bars', () => {
  it('have a label and a value each, also those that are tiny or were not measured', () => {
    const svg = barsPlot(bars);
    const texts = textsOf(svg).map(({ text }) => text);
    for (const text of ['12,345', '3', '12,344', 'not measured', 'One process', 'Four'])
      expect(texts).toContain(text);
    expect(texts.filter((text) => text === 'Syncline')).toHaveLength(2);
    const widths = elementsOf(svg).filter(
      ({ name, attributes }) => name === 'rect' && attributes['class'] !== 'card',
    );
    expect(widths).toHaveLength(3);
    for (const { attributes } of widths) expect(Number(attributes['width'])).toBeGreaterThan(1);
  });

  it('put no two texts on each other, and none outside', () => {
    const long = 'a contender whose settings had to be told at length, for fairness';
    const values = [0, 1, 12_344, 12_345, 2_000_000];
    const group = { label: long, bars: values.map((value) => ({ label: long, value, most: value * 1.2 })) };
    expectApart(
      barsPlot({ ...bars, title: `${long} ${long}`, subtitle: `${long} ${long}`, groups: [group, group] }),
    );
  });
});

describe('lines', () => {
  it('have their name and last value at their end, apart from each other however near they end', () => {
    const manyEnds = fc.array(moderate, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(manyEnds, fc.array(moderate, { minLength: 1 }), kinds, kinds, (ends, xs, x, y) => {
        const series = ends.map((end, i) => ({
          name: `contender number ${i} of a few`,
          points: xs.map((x) => ({ x, y: end })),
        }));
        const svg = linesPlot({ ...lines, x: { label: 'x', kind: x }, y: { label: 'y', kind: y }, series });
        expectApart(svg);
        for (const end of ends) expect(textsOf(svg, 'muted').map(({ text }) => text)).toContain(figure(end));
      }),
    );
  });

  it('stand above an axis that names fewer values where they would run into each other', () => {
    const points = [10_001, 95_000].map((x) => ({ x: x / 10_000_000, y: 1 }));
    const name = 'a contender with a name that needs room';
    expectApart(linesPlot({ ...lines, series: [{ name, points }] }));
  });

  it('keep their peaks when they have more points than can be drawn', () => {
    const points = Array.from({ length: 5000 }, (_, x) => ({ x, y: x === 1234 ? 900 : 1 }));
    const svg = linesPlot({ ...lines, x: { label: 'x' }, series: [{ name: 'some', points }] });
    const drawn = elementsOf(svg).find(({ attributes }) => attributes['class']?.startsWith('line'));
    const heights = [...(drawn?.attributes['d'] ?? '').matchAll(/ ([\d.]+)/g)].map(([, y]) => Number(y));
    expect(heights.filter((y) => y < Math.max(...heights) - 200)).toHaveLength(1);
    expect(said(svg)).toContain('most 900 at 1,234');
  });
});

describe('axes', () => {
  it('name values that grow, within the axis, each in its own words', () => {
    fc.assert(
      fc.property(fc.array(moderate), kinds, fc.boolean(), fc.boolean(), (values, kind, zero, round) => {
        const { ticks, at } = scaleOf({ values, kind, zero, round, from: 100, to: 500 });
        expect(ticks.length).toBeGreaterThan(0);
        expect(new Set(ticks.map(shortFigure)).size).toBe(ticks.length);
        for (const [i, tick] of ticks.entries()) {
          expect(at(tick)).toBeGreaterThanOrEqual(99.9);
          expect(at(tick)).toBeLessThanOrEqual(500.1);
          if (i > 0) expect(tick).toBeGreaterThan(ticks[i - 1] as number);
        }
      }),
    );
  });

  it('count by tens on a log axis, and by round steps on a linear one', () => {
    const ticks = (kind: 'linear' | 'log', ...values: number[]) =>
      scaleOf({ values, kind, zero: true, round: true, from: 0, to: 1 }).ticks.map(shortFigure);
    expect(ticks('log', 1000, 1_000_000)).toEqual(['1k', '10k', '100k', '1M']);
    expect(ticks('log', 30, 90)).toEqual(['20', '50', '100']);
    expect(ticks('linear', 1.1)).toEqual(['0', '0.2', '0.4', '0.6', '0.8', '1', '1.2']);
    expect(ticks('linear', 0)).toEqual(ticks('linear'));
  });

  it('place what has no logarithm at their lower end', () => {
    const { at } = scaleOf({ values: [0, 1, 100], kind: 'log', from: 0, to: 100 });
    expect([at(0), at(1), at(10), at(100)]).toEqual([0, 0, 50, 100]);
  });
});

it('wrapped lines are no wider than told and lose nothing', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 30, max: 300 }), (text, width) => {
      const wrapped = wrap(text, 13, width);
      for (const line of wrapped) expect(textWidth(line, 13)).toBeLessThanOrEqual(width);
      expect(wrapped.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
    }),
  );
});

function contrast(one: string, other: string): number {
  const luminance = (colour: string) =>
    [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
      const channel = Number.parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
      return sum + weight * (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
    }, 0.05);
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return light / dark;
}

/** By the widths that the plots reckon with: no text lies on another, and none leaves the picture. */
function expectApart(svg: string): void {
  const boxes = textsOf(svg).map(({ text, attributes }) => {
    const width = textWidth(text, attributes['class'] === 'title' ? 17 : 12);
    const [x, y] = [Number(attributes['x']), Number(attributes['y'])];
    const before = { middle: width / 2, end: width }[attributes['text-anchor'] ?? ''] ?? 0;
    const left = x - before;
    return { text, left, right: left + width, top: y - 9, bottom: y + 2 };
  });
  const height = Number(elementsOf(svg)[0]?.attributes['height']);
  for (const [i, one] of boxes.entries()) {
    expect(one.left, one.text).toBeGreaterThanOrEqual(0);
    expect(one.right, one.text).toBeLessThanOrEqual(760);
    expect(one.bottom, one.text).toBeLessThanOrEqual(height);
    for (const other of boxes.slice(i + 1)) {
      const across = one.left < other.right && other.left < one.right;
      const along = one.top < other.bottom && other.top < one.bottom;
      expect(across && along, `${one.text} | ${other.text}`).toBe(false);
    }
  }
}
