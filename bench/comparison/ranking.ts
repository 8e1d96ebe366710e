import { fixed, median, range } from '../tools/text.ts';
import type { Comparison, Timing } from './comparison.ts';

export function describeMode({ processes, order }: Pick<Timing, 'processes' | 'order'>): string {
  return `${processes} ${processes === 1 ? 'process' : 'processes'}${order === 'concurrent' ? ', concurrent' : ''}`;
}

/** The timings of a subject's fastest mode, one per round; of its fastest variant unless given. */
export function bestOf({ rounds }: Comparison, subject: string, variant?: string): Timing[] {
  const groups = new Map<string, Timing[]>();
  for (const timing of rounds.flat()) {
    if (timing.subject !== subject || (variant ?? timing.variant) !== timing.variant) continue;
    const key = `${timing.variant}, ${describeMode(timing)}`;
    groups.set(key, [...(groups.get(key) ?? []), timing]);
  }
  const rate = (group: Timing[]) => median(group.map(({ perSecond }) => perSecond));
  return [...groups.values()].reduce((best, group) => (rate(group) > rate(best) ? group : best));
}

export function ratios(comparison: Comparison, one: string, other: string, variant?: string): number[] {
  const others = bestOf(comparison, other, variant);
  return bestOf(comparison, one).map(
    ({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN),
  );
}

export const summary = (values: number[], format = fixed(2)) =>
  `${format(median(values))} (${range(values, format)})`;
