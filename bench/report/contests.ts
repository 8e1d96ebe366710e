import { barsPlot } from '../plots/bars.ts';
import type { Contest, Measured } from '../tools/contest.ts';
import { fixed, median, spread, table, whole } from '../tools/report.ts';
import { bestOf, inRounds, ratios, wayOf } from '../tools/standings.ts';
import type { Goal } from './section.ts';

/** Each has its colour, the same in every plot. */
export const contenders = ['Syncline', 'graphile-worker', 'pg-boss', 'BullMQ on Postgres', 'SQL alone'];
export const self = 'Syncline';

/** Some variants of an entrant, of which the fastest is shown. */
export interface Row {
  entrant: string;
  label: string;
  variants?: string[];
}

/** Only of those who took part, and of variants that were run. */
export function present({ about }: Contest, rows: Row[]): Row[] {
  return rows.filter(
    ({ entrant, variants }) =>
      about[entrant] && (variants?.some((variant) => about[entrant]?.[variant]) ?? true),
  );
}

export function ratesTable(contest: Contest, rows: Row[]): string {
  const head = ['Who', 'fastest with', 'in all/s', 'least to most', `${self} to it`];
  return table(
    head,
    rows.map(({ entrant, label, variants }) => {
      const best = bestOf(contest, entrant, variants);
      const rates = best.map(({ perSecond }) => perSecond);
      const ratio = entrant === self ? '' : inRounds(ratios(contest, self, entrant, variants));
      return [label, wayOf(best[0] as Measured), whole(median(rates)), spread(rates, whole), ratio];
    }),
  );
}

export function ratesPlot(contest: Contest, rows: Row[], title: string): string {
  const bars = rows.map(({ entrant, label, variants }) => {
    const rates = bestOf(contest, entrant, variants).map(({ perSecond }) => perSecond);
    const [least, most] = [Math.min(...rates), Math.max(...rates)];
    return { label, value: median(rates), least, most, colour: contenders.indexOf(entrant) };
  });
  const subtitle = 'Median, least and most of all rounds; more is better';
  return barsPlot({ title, subtitle, unit: 'jobs per second', groups: [{ bars }] });
}

/** How many times as fast as Syncline it was, where it was faster. */
export function leadOf(contest: Contest, { entrant, variants }: Row): string | undefined {
  const ratio = median(ratios(contest, self, entrant, variants));
  return ratio < 1 ? fixed(1)(1 / ratio) : undefined;
}

/** The one that comes closest to Syncline, or is furthest ahead. */
export function fastestOf(contest: Contest, rows: Row[]): Row | undefined {
  const ratio = ({ entrant, variants }: Row) => median(ratios(contest, self, entrant, variants));
  return rows.toSorted((a, b) => ratio(a) - ratio(b))[0];
}

/** That Syncline must be so many times as fast. */
export function ratioGoal(what: string, contest: Contest, { entrant, variants }: Row, least: number): Goal {
  const found = ratios(contest, self, entrant, variants);
  return { what, goal: `≥ ${least}`, found: inRounds(found), isMet: median(found) >= least };
}

/** The settings of everybody, as a list. */
export function settingsList({ about }: Contest): string {
  return Object.entries(about)
    .flatMap(([entrant, variants]) =>
      Object.entries(variants).map(([variant, how]) => `- ${entrant}, ${variant}: ${how}.`),
    )
    .join('\n');
}

export const scaleOf = ({ jobs, rounds }: Contest) =>
  `${whole(jobs)} jobs; ${rounds.length} rounds, everybody in turns; a ratio is of the same round: the median, and least to most.`;
