import { fixed, median, range } from '../tools/text.ts';
import type { Comparison, Timing } from './comparison.ts';

export function describeMode({ processes, order }: Pick<Timing, 'processes' | 'order'>): string {
  return `${processes} ${processes === 1 ? 'process' : 'processes'}${order === 'concurrent' ? ', concurrent' : ''}`;
}

/** The timings of a subject's fastest variant and mode, one per round; of `variants` only, if given. */
export function bestOf({ rounds }: Comparison, subject: string, variants?: string[]): Timing[] {
  const groups = new Map<string, Timing[]>();
  for (const timing of rounds.flat()) {
    if (timing.subject !== subject || variants?.includes(timing.variant) === false) continue;
    const key = `${timing.variant}, ${describeMode(timing)}`;
    groups.set(key, [...(groups.get(key) ?? []), timing]);
  }
  const rate = (group: Timing[]) => median(group.map(({ perSecond }) => perSecond));
  return [...groups.values()].reduce((best, group) => (rate(group) > rate(best) ? group : best));
}

/** The rate of one subject divided by the rate of another, per round. */
export function ratios(comparison: Comparison, one: string, other: string, variants?: string[]): number[] {
  const others = bestOf(comparison, other, variants);
  return bestOf(comparison, one).map(
    ({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN),
  );
}

/** Median and range. */
export const summary = (values: number[], format = fixed(2)) =>
  `${format(median(values))} (${range(values, format)})`;
