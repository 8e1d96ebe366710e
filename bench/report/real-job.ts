import type { Contest } from '../tools/contest.ts';
import {
  fastestOf,
  leadOf,
  present,
  type Row,
  ratesPlot,
  ratesTable,
  ratioGoal,
  scaleOf,
  self,
  settingsList,
} from './contests.ts';
import { type Findings, image } from './section.ts';

const title = 'The same sync: one signal and one cursor stored, the next run placed';

interface WrittenByHand extends Row {
  /** What is given up for it. */
  price?: string;
}

const groupCommit =
  'the jobs that run at once share a transaction, with some 60 lines of own code ([here](../bench/real-job/store.ts)); what one of them cannot store, none of its group has stored';

const all: WrittenByHand[] = [
  { entrant: self, label: self },
  {
    entrant: 'graphile-worker',
    label: 'graphile-worker, plain',
    variants: ['plain', 'named queues'],
  },
  {
    entrant: 'graphile-worker',
    label: 'graphile-worker, group commit by hand',
    variants: ['group commit'],
    price: groupCommit,
  },
  {
    entrant: 'graphile-worker',
    label: 'graphile-worker, batch jobs by hand',
    variants: ['batch jobs'],
    price: 'a job is 250 connections, which are stored, fail and are retried together',
  },
  { entrant: 'pg-boss', label: 'pg-boss, plain', variants: ['plain'] },
  {
    entrant: 'pg-boss',
    label: 'pg-boss, batches by hand',
    variants: ['batches'],
    price: '500 jobs succeed or fail together',
  },
  { entrant: 'BullMQ on Postgres', label: 'BullMQ on Postgres, plain', variants: ['plain'] },
  {
    entrant: 'BullMQ on Postgres',
    label: 'BullMQ on Postgres, group commit by hand',
    variants: ['group commit'],
    price: groupCommit,
  },
];

export function realJob(contest: Contest): Findings {
  const rows = present(contest, all) as WrittenByHand[];
  const byHand = rows.filter(({ price }) => price !== undefined);
  const plain = rows.filter(({ entrant, price }) => entrant !== self && price === undefined);
  return {
    text: [
      `From "so many connections are due" until each has its signal and its cursor stored, once, and its next run placed. Peers have no
connections, so a task of theirs looks for due ones in a table and adds their jobs.

Plain is what most would write: a transaction for each job (of graphile-worker, the faster of with and without named queues). By
hand is what can be reached with more code and fewer promises:`,
      byHand.map(({ label, price }) => `- ${label}: ${price}.`).join('\n'),
      `With ${self} each sync succeeds, fails and is retried alone, at most one of a connection at a time, and what comes of a run
whose process was thought dead is refused. It ends in the transaction that stores what it found; so do batches of pg-boss, while all
others end their jobs in another one.`,
      scaleOf(contest),
      ratesTable(contest, rows),
      image('real-job', title),
      settingsList(contest),
    ].join('\n\n'),
    plots: { 'real-job': ratesPlot(contest, rows, title) },
    goals: [plain, byHand].flatMap((group) => {
      const best = fastestOf(contest, group);
      return best ? ratioGoal(`The same sync, to ${best.label}`, contest, best, 5) : [];
    }),
    betterPeers: rows.flatMap((row) => {
      const lead = row.entrant === self ? undefined : leadOf(contest, row);
      if (!lead) return [];
      return `${row.label}, does the same syncs ${lead} times as fast${row.price ? `: ${row.price}` : ''}.`;
    }),
  };
}
