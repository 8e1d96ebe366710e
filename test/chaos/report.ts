import type { ChaosReport } from './run.ts';

export function reportText({
  seed,
  kinds,
  recoveries,
  logCounts,
  responses,
  stored,
  problems,
}: ChaosReport): string {
  const formatCounts = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
  return [
    `Seed ${seed}: ${stored.connections} connections, ${stored.jobs} jobs, ${stored.signals} signals.`,
    '',
    ...columns(
      ['fault', 'count'],
      kinds.map(({ kind, count, skipReason }) => [
        kind,
        skipReason ? `skipped: ${skipReason}` : String(count),
      ]),
    ),
    '',
    ...columns(
      ['recovery (ms)', 'count', 'p50', 'p95', 'p99', 'max'],
      Object.entries(recoveries).map(([what, all]) => [what, String(all.length), ...percentiles(all)]),
    ),
    '',
    `Log lines of the fleet: ${formatCounts(logCounts)}.`,
    `API responses by status: ${formatCounts(responses)} (0: no response).`,
    '',
    ...(problems.length === 0
      ? ['No signal is missing or duplicated, and no invariant was violated.']
      : problems.map((problem) => `PROBLEM: ${problem}`)),
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
