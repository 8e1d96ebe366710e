import { now } from '../clock.ts';
import { duration, plural, relative } from '../format.ts';
import type { RecentRun } from '../types.ts';

const slots = 20;
const barWidth = 4;
const step = 6;
const up = 16;
const down = 6;

/** Failed runs point down. */
export function Sparkline({ runs }: { runs: RecentRun[] | undefined }) {
  if (!runs?.length) return <span class="faint">no runs yet</span>;
  const newestLast = runs.slice(0, slots).reverse();
  const maxDurationMs = Math.max(1, ...newestLast.map(({ duration_ms }) => duration_ms ?? 0));
  const offset = (slots - newestLast.length) * step;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${slots * step} ${up + down}`}
      width={slots * step}
      height={up + down}
      role="img"
      aria-label={summary(runs)}
    >
      <title>{summary(runs)}</title>
      <line x1="0" x2={slots * step} y1={up + 0.5} y2={up + 0.5} class="sparkline-base" />
      {newestLast.map((run, index) => (
        <Bar key={run.job_id} run={run} x={offset + index * step} maxDurationMs={maxDurationMs} />
      ))}
    </svg>
  );
}

function Bar({ run, x, maxDurationMs }: { run: RecentRun; x: number; maxDurationMs: number }) {
  const failed = run.status === 'failed';
  // Durations vary by orders of magnitude.
  const size = Math.log1p(run.duration_ms ?? 0) / Math.log1p(maxDurationMs);
  const height = failed ? down : Math.max(2, Math.round(size * (up - 1)));
  return (
    <rect
      class={`run-${run.status}`}
      x={x}
      y={failed ? up + 1 : up - height}
      width={barWidth}
      height={failed ? height - 1 : height}
      rx="1"
    />
  );
}

function summary(runs: RecentRun[]): string {
  const counts = new Map<string, number>();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts = [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
  const newest = runs[0];
  const last = newest ? `; the latest ${newest.status} ${relative(newest.ended_at, now.peek())}` : '';
  const took = newest?.duration_ms ? `, took ${duration(newest.duration_ms)}` : '';
  return `Last ${plural(runs.length, 'run')}: ${parts}${last}${took}`;
}
