import type { ChaosReport } from './run.ts';

/** What came of it, for people. */
export function reportText({
  seed,
  kinds,
  recoveries,
  heard,
  answers,
  stored,
  problems,
}: ChaosReport): string {
  const told = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  return [
    `Seed ${seed}: ${stored.connections} connections, ${stored.jobs} jobs, ${stored.signals} signals.`,
    '',
    ...columns(
      ['fault', 'times'],
      kinds.map(({ kind, count, impossible }) => [
        kind,
        impossible ? `skipped: ${impossible}` : String(count),
      ]),
    ),
    '',
    ...columns(
      ['recovery (ms)', 'of', 'p50', 'p95', 'p99', 'most'],
      Object.entries(recoveries).map(([what, all]) => [what, String(all.length), ...percentiles(all)]),
    ),
    '',
    `The fleet said: ${told(heard)}.`,
    `The API answered: ${told(answers)} (0: nobody was there).`,
    '',
    ...(problems.length === 0
      ? ['Nothing is missing, nothing doubled, nothing violated.']
      : problems.map((what) => `PROBLEM: ${what}`)),
  ].join('\n');
}

function percentiles(all: number[]): string[] {
  const sorted = [...all].sort((a, b) => a - b);
  return [0.5, 0.95, 0.99, 1].map((share) => {
    const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
    return value === undefined ? '–' : String(Math.round(value));
  });
}

function columns(head: string[], rows: string[][]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
