import type { Contest, Measured } from './contest.ts';
import { fixed, median, spread, table, whole } from './report.ts';

/** What a contest came to. */

export const labelOf = ({ entrant, variant, processes, order }: Measured) =>
  `${entrant}, ${variant}, ${wayOf({ processes, order })}`;

/** How it was run, in words. */
export const wayOf = ({ processes, order }: Pick<Measured, 'processes' | 'order'>) =>
  `${processes} ${processes === 1 ? 'process' : 'processes'}${order === 'at once' ? ' at once' : ''}`;

/** The variant and way of an entrant that was fastest in the median of all rounds, of these variants or of all. */
export function bestOf({ rounds }: Contest, entrant: string, variants?: string[]): Measured[] {
  const own = rounds.map((round) =>
    round.filter((one) => one.entrant === entrant && (variants?.includes(one.variant) ?? true)),
  );
  return groupWays(own).reduce((best, group) => (rateOf(group) > rateOf(best) ? group : best));
}

const rateOf = (group: Measured[]) => median(group.map(({ perSecond }) => perSecond));

function groupWays(rounds: Measured[][]): Measured[][] {
  const groups = new Map<string, Measured[]>();
  for (const measured of rounds.flat()) {
    const label = labelOf(measured);
    groups.set(label, [...(groups.get(label) ?? []), measured]);
  }
  return [...groups.values()];
}

/** How many times as fast as the best of the other the best of the one was, in each round. */
export function ratios(contest: Contest, one: string, other: string, variants?: string[]): number[] {
  const [mine, theirs] = [bestOf(contest, one), bestOf(contest, other, variants)];
  return mine.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN));
}

/** The median, and least to most. */
export const inRounds = (values: number[], format = fixed(2)) =>
  `${format(median(values))} (${spread(values, format)})`;

export function contestTable(contest: Contest, self: string): string {
  const head = ['Who and how', 'in all/s', 'least to most', 'run only/s', 'best', `${self} to it`];
  const rows = groupWays(contest.rounds)
    .toSorted((a, b) => rateOf(b) - rateOf(a))
    .map((group) => {
      const first = group[0] as Measured;
      const isBest = labelOf(bestOf(contest, first.entrant)[0] as Measured) === labelOf(first);
      const runs = group.flatMap(({ runPerSecond }) => runPerSecond ?? []);
      const rates = group.map(({ perSecond }) => perSecond);
      return [
        labelOf(first),
        whole(median(rates)),
        spread(rates, whole),
        runs.length > 0 ? whole(median(runs)) : '',
        isBest ? 'best' : '',
        isBest && first.entrant !== self ? inRounds(ratios(contest, self, first.entrant)) : '',
      ];
    });
  return table(head, rows);
}
