import { EventEmitter, once } from 'node:events';
import { plainJson, stripControl } from '../values/terminal-text.ts';
import { terminal } from './terminal.ts';

/** Waits for a slow reader: a pipe buffers any number of writes in memory. */
export async function write(text: string, signal?: AbortSignal): Promise<void> {
  const { stdout } = terminal();
  if (stdout.write(text) !== false || !(stdout instanceof EventEmitter)) return;
  await once(stdout, 'drain', { signal }).catch((error: unknown) => {
    if (!signal?.aborted) throw error;
  });
}

export const resultText = (json: boolean | undefined, value: unknown, lines: () => string[]): string =>
  json ? `${plainJson(value)}\n` : lines().map(asLine).join('');

export function printResult(json: boolean | undefined, value: unknown, lines: () => string[]): void {
  terminal().stdout.write(resultText(json, value, lines));
}

export function note(text: string): void {
  terminal().stderr.write(asLine(text));
}

const asLine = (text: string) => `${stripControl(text)}\n`;

export function table(rows: string[][], { width = Number.POSITIVE_INFINITY } = {}): string[] {
  const cells = rows.map((row) => row.map(stripControl));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const last = widths.length - 1;
  const before = widths.slice(0, last).reduce((sum, columnWidth) => sum + columnWidth + 2, 0);
  const lastWidth = Math.max(minLastWidth, width - before);
  return cells.map((row) =>
    row
      .map((cell, column) => (column === last ? cut(cell, lastWidth) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Even if the line exceeds the terminal. */
const minLastWidth = 20;

export function cut(text: string, length: number): string {
  // Do not split a surrogate pair.
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** 160 without a terminal. */
export function outputWidth(): number {
  return terminal().stdout.columns || 160;
}

export function count(n: number, singular: string, plural = `${singular}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? singular : plural}`;
}
