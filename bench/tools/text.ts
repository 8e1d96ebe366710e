export function median(values: number[]): number {
  return quantile(values, 0.5);
}

/** Interpolates between the two nearest values. */
export function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * part;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

export function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function range(values: number[], format: (value: number) => string): string {
  return `${format(Math.min(...values))} – ${format(Math.max(...values))}`;
}

export const whole = (value: number) => Math.round(value).toLocaleString('en-US');
export const fixed = (digits: number) => (value: number) => value.toFixed(digits);

export function verdict(met: boolean): string {
  return met ? 'met' : 'MISSED';
}

/** A Markdown table with aligned source. The first column is text, the others are numbers. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const pad = (cell: string, i: number) =>
    i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  const line = (row: string[]) => `| ${row.map(pad).join(' | ')} |`;
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

export function progress(message: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${message}`);
}

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Wall-clock time with fractions of a millisecond, comparable across processes of one machine. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
