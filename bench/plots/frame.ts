import type { Scale } from './scale.ts';
import { escapeText, shortFigure, textWidth, wrap } from './words.ts';

/** What every plot has around it: the card, its title, its axes and its colours. */

export const width = 760;
export const padding = 20;
export const fontSize = 13;
export const lineHeight = 16;

/** Told apart by people who see fewer colours, and at least 3:1 against the background, in both themes. */
const light = {
  card: '#fafbfc',
  edge: '#d1d9e0',
  ink: '#1f2328',
  muted: '#59636e',
  grid: '#e2e6ea',
  colours: ['#0074cc', '#d9480f', '#0b5345', '#b9658f', '#2c1a5e', '#7a8f3a'],
};
const dark: typeof light = {
  card: '#151b23',
  edge: '#3d444d',
  ink: '#f0f6fc',
  muted: '#a2acb8',
  grid: '#2b333d',
  colours: ['#3f9cf0', '#ec6f2a', '#8fedc4', '#ee93d0', '#7d7f78', '#f5e960'],
};

/** Without variables: not everything that shows an image knows them. */
function rules({ card, edge, ink, muted, grid, colours }: typeof light): string {
  return [
    `.card{fill:${card};stroke:${edge}}`,
    `text{fill:${ink}}`,
    `.muted,.tick{fill:${muted}}`,
    `.grid{stroke:${grid}}`,
    `.axis{stroke:${muted}}`,
    `.whisker{stroke:${ink}}`,
    `.halo,.value,.point{stroke:${card}}`,
    ...colours.map((colour, i) => `.c${i}{fill:${colour}}.s${i}{stroke:${colour}}`),
  ].join('');
}

const style = [
  `text{font:${fontSize}px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;font-variant-numeric:tabular-nums}`,
  '.title{font-size:17px;font-weight:600}.group,.value{font-weight:600}.tick,.small{font-size:12px}',
  // So that no line runs through a value.
  '.value{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}',
  '.whisker,.halo,.line,.leader{fill:none}.whisker{stroke-width:1.5}.halo{stroke-width:4}',
  '.line{stroke-width:2.25;stroke-linejoin:round}.leader{stroke-width:1;stroke-dasharray:2 3}.band{opacity:.16}',
  rules(light),
  `@media(prefers-color-scheme:dark){${rules(dark)}}`,
].join('');

/** The names of the classes that fill and that draw in the colour of so many. */
export function colourOf(index: number): { fill: string; stroke: string } {
  const i = index % light.colours.length;
  return { fill: `c${i}`, stroke: `s${i}` };
}

/** Coordinates are tenths of a pixel: more would only make the file longer. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export function text(x: number, y: number, words: string, names = '', anchor = 'start'): string {
  const where = anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  return `<text x="${px(x)}" y="${px(y)}"${names && ` class="${names}"`}${where}>${escapeText(words)}</text>`;
}

export interface Titles {
  title: string;
  subtitle?: string;
}

/** The titles, and the pixel below them. */
export function titles({ title, subtitle = '' }: Titles): { body: string; bottom: number } {
  const room = width - 2 * padding;
  const first = wrap(title, 18, room);
  const second = wrap(subtitle, fontSize, room);
  const subtitleTop = padding + first.length * 22;
  return {
    body: [
      ...first.map((line, i) => text(padding, padding + 14 + i * 22, line, 'title')),
      ...second.map((line, i) => text(padding, subtitleTop + 14 + i * 17, line, 'muted')),
    ].join(''),
    bottom: subtitleTop + second.length * 17 + 10,
  };
}

export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Lines from top to bottom, with their values below and what they count below that. */
export function axisBelow(scale: Scale, area: Area, label: string): string {
  let free = 0;
  const ticks = scale.ticks.map((tick) => {
    const x = scale.at(tick);
    const line = `<path class="grid" d="M${px(x)} ${px(area.top)}V${px(area.bottom)}"/>`;
    const half = textWidth(shortFigure(tick), 12) / 2;
    // Narrow places name fewer values.
    if (x - half < free) return line;
    free = x + half + 6;
    return line + text(x, area.bottom + 18, shortFigure(tick), 'tick', 'middle');
  });
  const middle = (area.left + area.right) / 2;
  return ticks.join('') + text(middle, area.bottom + 38, label, 'muted', 'middle');
}

/** Lines from left to right, with their values beside and what they count above. */
export function axisBeside(scale: Scale, area: Area, label: string): string {
  const ticks = scale.ticks.map((tick) => {
    const y = scale.at(tick);
    const line = `<path class="grid" d="M${px(area.left)} ${px(y)}H${px(area.right)}"/>`;
    return line + text(area.left - 8, y + 4, shortFigure(tick), 'tick', 'end');
  });
  return text(padding, area.top - 14, label, 'muted') + ticks.join('');
}

/** The finished file. `description` is for those who do not see it, so it says the figures. */
export function card({ title }: Titles, description: string[], height: number, body: string): string {
  const size = `width="${width}" height="${px(height)}" viewBox="0 0 ${width} ${px(height)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<desc>${escapeText(description.join(' '))}</desc>`,
    `<style>${style}</style>`,
    `<rect class="card" x=".5" y=".5" width="${width - 1}" height="${px(height - 1)}" rx="8"/>`,
    `${body}</svg>\n`,
  ].join('\n');
}
