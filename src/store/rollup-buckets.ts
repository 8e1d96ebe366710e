/** Upper bounds; a last bucket holds larger values. */
export type Edges = readonly number[];

export const lagEdgesMs: Edges = [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000];
/** Age of data at the next sync. */
export const ageEdgesSeconds: Edges = [60, 90, 120, 300, 600, 900, 1200, 1800, 3600, 14_400, 86_400];

export function bucketOf(value: number, edges: Edges): number {
  const i = edges.findIndex((edge) => value <= edge);
  return i === -1 ? edges.length : i;
}

/** Interpolated; at most the last edge. */
export function percentile(counts: readonly number[], edges: Edges, share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let below = 0;
  for (const [i, count] of counts.entries()) {
    if (below + count >= share * total && count > 0) {
      const from = i === 0 ? 0 : (edges[i - 1] as number);
      const to = edges[i] ?? from;
      return from + (to - from) * ((share * total - below) / count);
    }
    below += count;
  }
  return edges.at(-1);
}
