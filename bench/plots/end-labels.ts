import { colourOf, fontSize, lineHeight, px, text } from './frame.ts';
import { textWidth, wrap } from './words.ts';

/** What stands right of a line's end: the series' name and its last value. */
export interface EndLabel {
  lines: string[];
  height: number;
  /** Where the line ends, if it has any point. */
  end?: { x: number; y: number };
}

const widestName = 170;
const gap = 6;

export function endLabel(name: string, value: string): EndLabel {
  const lines = [...wrap(name, fontSize + 1, widestName), value];
  return { lines, height: lines.length * lineHeight + gap };
}

export function widthOf(labels: EndLabel[]): number {
  return Math.max(0, ...labels.flatMap(({ lines }) => lines.map((line) => textWidth(line, fontSize + 1))));
}

/** The tops of the labels: each as near to its line's end as the others leave room for. */
function placesOf(labels: EndLabel[], top: number, bottom: number): Map<EndLabel, number> {
  const wanted = (label: EndLabel) => (label.end?.y ?? bottom) - label.height / 2;
  const sorted = labels.toSorted((one, other) => wanted(one) - wanted(other));
  const places = new Map<EndLabel, number>();
  let free = top;
  for (const label of sorted) {
    places.set(label, Math.max(free, wanted(label)));
    free = (places.get(label) as number) + label.height;
  }
  free = bottom;
  for (const label of sorted.toReversed()) {
    places.set(label, Math.min(places.get(label) as number, free - label.height));
    free = places.get(label) as number;
  }
  return places;
}

export function drawEndLabels(
  labels: EndLabel[],
  colours: number[],
  { right, top, bottom }: { right: number; top: number; bottom: number },
): string {
  const places = placesOf(labels, top - gap, bottom + gap);
  const drawn = labels.map((label, i) => {
    const y = places.get(label) as number;
    const { fill, stroke } = colourOf(colours[i] as number);
    const { lines, height, end } = label;
    const middle = y + height / 2;
    const leader =
      end &&
      `<path class="leader ${stroke}" d="M${px(end.x + 7)} ${px(end.y)}L${px(right + 14)} ${px(middle)}"/>`;
    const key = `<circle class="${fill}" cx="${px(right + 18)}" cy="${px(middle)}" r="4"/>`;
    const texts = lines.map((line, j) =>
      text(right + 28, y + gap / 2 + 12 + j * lineHeight, line, j < lines.length - 1 ? 'name' : 'muted'),
    );
    return (leader ?? '') + key + texts.join('');
  });
  return drawn.join('');
}
