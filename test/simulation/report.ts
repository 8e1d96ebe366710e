import { situations } from './situations.ts';
import type { Report } from './worker.ts';

const replayLine = (seed: number) => `npm run sim -- --seeds 1 --from ${seed}`;

export function describeFailure({ seed, violations, lines }: Report): string {
  return [
    `seed ${seed} violates ${violations.length === 1 ? 'one invariant' : `${violations.length} invariants`}; repeat with: ${replayLine(seed)}`,
    ...violations.slice(0, 20).map(({ invariant, detail, connectionId, jobId, position }) => {
      const where = [
        connectionId && `connection …${connectionId.slice(-4)}`,
        jobId && `job …${jobId.slice(-6)}`,
        position && `position ${position}`,
      ];
      return `  ${invariant}: ${detail} ${where.filter(Boolean).join(', ')}`;
    }),
    ...(lines.length > 0 ? ['  last steps:', ...lines.map((line) => `  ${line}`)] : []),
  ].join('\n');
}

function countSituations(reports: readonly Report[]): Map<string, number> {
  const counts = new Map<string, number>(situations.map((situation) => [situation, 0]));
  for (const report of reports)
    for (const situation of report.situations) counts.set(situation, (counts.get(situation) ?? 0) + 1);
  return counts;
}

export function missedSituations(reports: readonly Report[]): string[] {
  return [...countSituations(reports)].filter(([, count]) => count === 0).map(([situation]) => situation);
}

export function situationsTable(reports: readonly Report[]): string {
  const counts = [...countSituations(reports)].sort(([, a], [, b]) => b - a);
  return counts.map(([situation, count]) => `${String(count).padStart(7)}  ${situation}`).join('\n');
}
