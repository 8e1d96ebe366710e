import type { Comparison, Timing } from '../comparison/comparison.ts';
import { bestOf, describeMode, ratios, summary } from '../comparison/ranking.ts';
import { earlierName, limitName, plainVariants, synclineName as self } from '../comparison/subjects.ts';
import { fixed, median, range, table, whole } from '../tools/text.ts';
import type { BarChart, Goal, Section } from './section.ts';

export const subjectColors = [
  self,
  'graphile-worker',
  'pg-boss',
  'BullMQ on Postgres',
  limitName,
  earlierName,
];

interface Row {
  subject: string;
  variant: string;
  label: string;
}

function rowsOf({ rounds }: Comparison): Row[] {
  const rows = new Map<string, Row>();
  for (const { subject, variant } of rounds.flat()) {
    const label = subject === self ? subject : `${subject}, ${variant}`;
    rows.set(label, { subject, variant, label });
  }
  const order = ({ subject }: Row) => subjectColors.indexOf(subject);
  return [...rows.values()].toSorted((a, b) => order(a) - order(b));
}

const ratioOf = (comparison: Comparison, { subject, variant }: Row) =>
  ratios(comparison, self, subject, variant);

function tables(comparison: Comparison): string {
  const rows = rowsOf(comparison);
  const cells = rows.map((row) => {
    const best = bestOf(comparison, row.subject, row.variant);
    const rates = best.map(({ perSecond }) => perSecond);
    const ratio = row.subject === self ? '' : summary(ratioOf(comparison, row));
    return [row.label, describeMode(best[0] as Timing), whole(median(rates)), range(rates, whole), ratio];
  });
  return [
    `${whole(comparison.jobs)} jobs, ${comparison.rounds.length} rounds. Rates and ratios are medians with the range of all rounds; a ratio compares rates of the same round.`,
    table(['Subject', 'fastest mode', 'jobs/s', 'range', `${self} / subject`], cells),
  ].join('\n\n');
}

function chart(comparison: Comparison, title: string): BarChart {
  const bars = rowsOf(comparison).map(({ subject, label, variant }) => {
    const rates = bestOf(comparison, subject, variant).map(({ perSecond }) => perSecond);
    const [min, max] = [Math.min(...rates), Math.max(...rates)];
    return { label, value: median(rates), min, max, color: subjectColors.indexOf(subject) };
  });
  return {
    title,
    subtitle: 'Median and range of all rounds; higher is better',
    unit: 'jobs per second',
    bars,
  };
}

function ratioGoal(
  what: string,
  comparison: Comparison,
  subject: string,
  min: number,
  variant?: string,
): Goal {
  const found = ratios(comparison, self, subject, variant);
  return { what, goal: `≥ ${min}`, found: summary(found), isMet: median(found) >= min };
}

function fasterThanSelf(comparison: Comparison, sentence: (row: Row, times: string) => string) {
  return rowsOf(comparison).flatMap((row) => {
    const ratio = row.subject === self ? 1 : median(ratioOf(comparison, row));
    return ratio < 1 ? sentence(row, fixed(1)(1 / ratio)) : [];
  });
}

export function bareJobs(comparison: Comparison): Section {
  return {
    texts: { table: tables(comparison) },
    chart: chart(comparison, 'Empty jobs on peers, complete syncs on Syncline'),
    // A reference, not a goal: a complete sync writes more than an empty job.
    goals: [],
    fasterPeers: fasterThanSelf(
      comparison,
      ({ subject }, times) =>
        `${subject} runs empty jobs ${times} times as fast as ${self} runs complete syncs.`,
    ),
  };
}

export function realJob(comparison: Comparison): Section {
  const peers = rowsOf(comparison)
    .filter(({ subject }) => subject !== self)
    .toSorted((a, b) => median(ratioOf(comparison, a)) - median(ratioOf(comparison, b)));
  const isPlain = ({ variant }: Row) => plainVariants.includes(variant);
  const fastest = [peers.find(isPlain), peers.find((row) => !isPlain(row))];
  return {
    texts: { table: tables(comparison) },
    chart: chart(comparison, 'The same sync: one signal, one cursor and the next run time'),
    goals: fastest.flatMap((row) =>
      row
        ? ratioGoal(
            `The same sync / ${row.label}`,
            comparison,
            row.subject,
            isPlain(row) ? 5 : 0.6,
            row.variant,
          )
        : [],
    ),
    fasterPeers: fasterThanSelf(
      comparison,
      ({ label }, times) => `${label}, runs the same syncs ${times} times as fast.`,
    ),
  };
}

/** The rate of two processes divided by that of one, per round. */
function secondProcess({ rounds }: Comparison): number[] {
  const rate = (round: Timing[], processes: number) =>
    Math.max(...round.filter((t) => t.subject === self && t.processes === processes).map((t) => t.perSecond));
  return rounds.map((round) => rate(round, 2) / rate(round, 1));
}

export function limit(comparison: Comparison): Section {
  const perSecond = median(bestOf(comparison, self).map((timing) => timing.perSecond));
  const hasEarlier = comparison.rounds.flat().some(({ subject }) => subject === earlierName);
  return {
    texts: {
      table: tables(comparison),
      percent: whole(median(ratios(comparison, self, limitName)) * 100),
      connections: whole(perSecond * 900),
      'second process': summary(secondProcess(comparison)),
    },
    chart: chart(comparison, 'The same rows written by SQL only'),
    goals: [
      ratioGoal('Complete syncs / the same rows written by SQL only', comparison, limitName, 0.75),
      ...(hasEarlier
        ? [ratioGoal('Complete syncs / those of the earlier build', comparison, earlierName, 1.7)]
        : []),
    ],
  };
}
