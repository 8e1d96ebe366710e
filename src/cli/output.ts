import { plain, plainJson } from '../values/terminal-text.ts';

/** Writes a command's answer: one JSON value for machines, or lines for people. */
export function answer(json: boolean | undefined, value: unknown, lines: () => string[]): void {
  process.stdout.write(json ? `${plainJson(value)}\n` : lines().map(asLine).join(''));
}

/** Tells a person something that is no part of the answer. */
export function note(text: string): void {
  process.stderr.write(asLine(text));
}

const asLine = (text: string) => `${plain(text)}\n`;

/** Columns as wide as their widest cell; the last one is cut where a line would be wider than `width`. */
export function table(rows: string[][], { width = Number.POSITIVE_INFINITY } = {}): string[] {
  const cells = rows.map((row) => row.map(plain));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, one) => sum + one + 2, 0);
  const room = Math.max(narrowest, width - before);
  return cells.map((row) =>
    row
      .map((cell, column) => (column === last ? cut(cell, room) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** A column that is cut shows at least this much, also where the terminal is too narrow for the others. */
const narrowest = 20;

export function cut(text: string, length: number): string {
  // Without half of a surrogate pair at its end.
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** How wide a line may be; a pipe has no width, so this is one that people can still read. */
export function outputWidth(): number {
  return process.stdout.columns || 160;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}
