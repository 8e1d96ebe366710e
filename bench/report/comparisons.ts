import type { Comparison, Timing } from '../comparison/comparison.ts';
import { bestOf, describeMode, ratios, summary } from '../comparison/ranking.ts';
import { limitName, synclineName as self } from '../comparison/subjects.ts';
import { fixed, median, range, table, whole } from '../tools/text.ts';
import type { BarChart, Findings, Goal } from './section.ts';

/** The index is the color in all charts. */
export const subjectColors = [self, 'graphile-worker', 'pg-boss', 'BullMQ on Postgres', limitName];

/** The fastest of some variants of a subject. */
interface Row {
  subject: string;
  label: string;
  variants?: string[];
  /** The disadvantage of a variant with batching. */
  cost?: string;
}

const ratioOf = (comparison: Comparison, { subject, variants }: Row) =>
  ratios(comparison, self, subject, variants);

/** Without rows that were not measured. */
function measuredRows({ about }: Comparison, rows: Row[]): Row[] {
  return rows.filter(
    ({ subject, variants }) =>
      about[subject] && (variants?.some((variant) => about[subject]?.[variant]) ?? true),
  );
}

function tables(comparison: Comparison, rows: Row[]): string[] {
  const { jobs, rounds, about } = comparison;
  const cells = rows.map((row) => {
    const best = bestOf(comparison, row.subject, row.variants);
    const rates = best.map(({ perSecond }) => perSecond);
    const ratio = row.subject === self ? '' : summary(ratioOf(comparison, row));
    return [row.label, describeMode(best[0] as Timing), whole(median(rates)), range(rates, whole), ratio];
  });
  const settings = Object.entries(about).flatMap(([subject, variants]) =>
    Object.entries(variants).map(([variant, how]) => `- ${subject}, ${variant}: ${how}.`),
  );
  return [
    `${whole(jobs)} jobs, ${rounds.length} rounds. Rates and ratios are medians with the range of all rounds; a ratio compares rates of the same round.`,
    table(['Subject', 'fastest mode', 'jobs/s', 'range', `${self} / subject`], cells),
    settings.join('\n'),
  ];
}

function chart(comparison: Comparison, rows: Row[], title: string): BarChart {
  const bars = rows.map(({ subject, label, variants }) => {
    const rates = bestOf(comparison, subject, variants).map(({ perSecond }) => perSecond);
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

function ratioGoal(what: string, comparison: Comparison, row: Row, min: number): Goal {
  const found = ratioOf(comparison, row);
  return { what, goal: `≥ ${min}`, found: summary(found), isMet: median(found) >= min };
}

/** One sentence for each row that is faster than Syncline. */
function fasterThanSelf(comparison: Comparison, rows: Row[], sentence: (row: Row, times: string) => string) {
  return rows.flatMap((row) => {
    const ratio = row.subject === self ? 1 : median(ratioOf(comparison, row));
    return ratio < 1 ? sentence(row, fixed(1)(1 / ratio)) : [];
  });
}

export function bareJobs(comparison: Comparison): Findings {
  const rows = measuredRows(comparison, [
    { subject: self, label: `${self}, complete syncs` },
    ...subjectColors.slice(1, 4).map((subject) => ({ subject, label: `${subject}, no-op` })),
  ]);
  return {
    text: [
      `Peers run empty jobs. ${self} has no empty job: it runs complete syncs that store one signal and one cursor. The work is not
the same; the comparison shows the overhead of a job.`,
      ...tables(comparison, rows),
    ].join('\n\n'),
    chart: chart(comparison, rows, 'Empty jobs on peers, complete syncs on Syncline'),
    goals: rows
      .filter(({ subject }) => subject === 'graphile-worker')
      .map((row) => ratioGoal(`Complete syncs / empty jobs of ${row.subject}`, comparison, row, 1)),
    fasterPeers: fasterThanSelf(
      comparison,
      rows,
      ({ subject }, times) =>
        `${subject} runs empty jobs ${times} times as fast as ${self} runs complete syncs.`,
    ),
  };
}

const groupCommit =
  'concurrent jobs share a transaction, with about 60 lines of application code ([store.ts](../bench/comparison/store.ts)); one row that fails makes its whole group fail';

const realJobRows: Row[] = [
  { subject: self, label: self },
  {
    subject: 'graphile-worker',
    label: 'graphile-worker, plain',
    variants: ['plain', 'named queues'],
  },
  {
    subject: 'graphile-worker',
    label: 'graphile-worker, group commit',
    variants: ['group commit'],
    cost: groupCommit,
  },
  {
    subject: 'graphile-worker',
    label: 'graphile-worker, batch jobs',
    variants: ['batch jobs'],
    cost: 'the 250 connections of a job commit, fail and retry together',
  },
  { subject: 'pg-boss', label: 'pg-boss, plain', variants: ['plain'] },
  {
    subject: 'pg-boss',
    label: 'pg-boss, batches',
    variants: ['batches'],
    cost: '500 jobs succeed or fail together',
  },
  { subject: 'BullMQ on Postgres', label: 'BullMQ on Postgres, plain', variants: ['plain'] },
  {
    subject: 'BullMQ on Postgres',
    label: 'BullMQ on Postgres, group commit',
    variants: ['group commit'],
    cost: groupCommit,
  },
];

export function realJob(comparison: Comparison): Findings {
  const rows = measuredRows(comparison, realJobRows);
  const batched = rows.filter(({ cost }) => cost !== undefined);
  const plain = rows.filter(({ subject, cost }) => subject !== self && cost === undefined);
  const closest = (group: Row[]) =>
    group.toSorted((a, b) => median(ratioOf(comparison, a)) - median(ratioOf(comparison, b))).slice(0, 1);
  return {
    text: [
      `Each due connection is scheduled and synced; its signal, its cursor and its next run time are stored once. Peers have no
connections, so a task reads due connections from a table and adds their jobs.

Plain variants use one transaction per job; for graphile-worker, the faster of with and without named queues counts. The
other variants are batched by application code:`,
      batched.map(({ label, cost }) => `- ${label}: ${cost}.`).join('\n'),
      `With ${self}, each sync succeeds, fails and retries alone, at most one sync per connection runs, and a commit of a process
whose lease expired is rejected. ${self} and the batches of pg-boss complete a job in the transaction that stores its
result; the other variants complete it in a second transaction.`,
      ...tables(comparison, rows),
    ].join('\n\n'),
    chart: chart(comparison, rows, 'The same sync: one signal, one cursor and the next run time'),
    goals: [plain, batched].flatMap((group) =>
      closest(group).map((row) => ratioGoal(`The same sync / ${row.label}`, comparison, row, 5)),
    ),
    fasterPeers: fasterThanSelf(
      comparison,
      rows,
      ({ label, cost }, times) =>
        `${label}, runs the same syncs ${times} times as fast${cost ? `: ${cost}` : ''}.`,
    ),
  };
}

export function limit(comparison: Comparison): Findings {
  const sql = { subject: limitName, label: `${limitName}, without Node` };
  const rows = measuredRows(comparison, [sql, { subject: self, label: self }]);
  const percent = Math.round(median(ratioOf(comparison, sql)) * 100);
  const perSecond = median(bestOf(comparison, self).map((timing) => timing.perSecond));
  return {
    text: [
      `[Procedures in the database](../bench/comparison/limit.sql) write the same rows of the same connections: one statement
schedules a batch of 1,000, one claims it, one finishes it. They call no connector, check no lease, keep no order across
providers and count no statistics. ${self} reaches ${percent} % of their rate.

Ten million connections with an interval of 15 minutes need 11,111 syncs per second. At the rate below, these cores, shared
by Postgres and the processes, support ${whole(perSecond * 900)} connections at this interval.`,
      ...tables(comparison, rows),
    ].join('\n\n'),
    chart: chart(comparison, rows, 'The same rows written by SQL only'),
    goals: [ratioGoal('Complete syncs / the same rows written by SQL only', comparison, sql, 0.7)],
  };
}
