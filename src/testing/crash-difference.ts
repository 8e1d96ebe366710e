import type { MemorySignal } from './memory.ts';

export function countOf(signals: readonly MemorySignal[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, payload } of signals) {
    const shown = `${kind} ${JSON.stringify(payload)}`;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return counts;
}

export interface Difference {
  lost: string[];
  doubled: string[];
}

export function differenceOf(expected: Map<string, number>, found: Map<string, number>): Difference {
  const missing = (from: Map<string, number>, to: Map<string, number>) =>
    [...from].filter(([shown, n]) => (to.get(shown) ?? 0) < n).map(([shown]) => shown);
  return { lost: missing(expected, found), doubled: missing(found, expected) };
}

export function formatDifference({ lost, doubled }: Difference): string | undefined {
  const parts = [
    lost.length > 0 && `${signals(lost.length)} lost, such as ${sample(lost)}`,
    doubled.length > 0 && `${signals(doubled.length)} duplicated or unexpected, such as ${sample(doubled)}`,
  ].filter(Boolean);
  return parts.length === 0 ? undefined : parts.join('; ');
}

const signals = (n: number) => `${n} ${n === 1 ? 'signal' : 'signals'}`;

const sample = (shown: string[]) =>
  shown
    .slice(0, 3)
    .map((text) => (text.length > 200 ? `${text.slice(0, 200)}…` : text))
    .join(', ');
