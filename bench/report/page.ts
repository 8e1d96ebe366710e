import type { Comparison } from '../comparison/comparison.ts';
import type { GrowthResult } from '../growth/measure.ts';
import type { LatencyResult } from '../latency/measure.ts';
import type { ManySchedulesResult } from '../many-schedules/measure.ts';
import { describeEnvironment, type Recorded } from '../tools/results.ts';
import { table, verdict } from '../tools/text.ts';
import { bareJobs, limit, realJob } from './comparisons.ts';
import { growth } from './growth.ts';
import { latency } from './latency.ts';
import { manySchedules } from './many-schedules.ts';
import { type Section, sectionOf } from './section.ts';

export type Read = <Result extends object>(name: string) => (Recorded & Result) | undefined;

export function sectionsOf(read: Read): Section[] {
  return [
    sectionOf('bare-jobs', 'Bare jobs', read<Comparison>('bare-jobs'), bareJobs),
    sectionOf('real-job', 'The real job', read<Comparison>('real-job'), realJob),
    sectionOf('many-schedules', 'Many schedules', read<ManySchedulesResult>('many-schedules'), manySchedules),
    sectionOf('limit', 'The limit', read<Comparison>('limit'), limit),
    sectionOf('latency', 'Latency', read<LatencyResult>('latency'), latency),
    sectionOf('growth', 'Growth', read<GrowthResult>('growth'), growth),
  ];
}

/** docs/benchmarks.md */
export function page(sections: Section[]): string {
  const letter = (section: Section) => `(${'abcdef'[sections.indexOf(section)]})`;
  return `${[
    '# Benchmarks',
    `Syncline compared with graphile-worker, pg-boss and BullMQ on one Postgres server, and Syncline alone. \`npm run bench:report\`
writes this page from the results in \`bench/results/\`.`,
    '## Method',
    environments(sections, letter),
    method,
    '## Goals',
    goals(sections),
    '## Where peers are faster',
    fasterPeers(sections),
    ...sections.flatMap((section) => [
      `## ${letter(section)} ${section.title}`,
      section.text,
      ...(section.chart ? [`![${section.chart.title}](benchmarks/${section.name}.svg)`] : []),
    ]),
  ].join('\n\n')}\n`;
}

const method = `\`fsync\` and \`synchronous_commit\` are on for all subjects. Postgres and the subjects share the same cores. Each peer runs with
its fastest documented settings for durable work, listed below. Each round uses a new database and starts with another
subject. After each round, SQL checks that each job ran exactly once. Rates depend on the machine; ratios within a round
transfer better to other machines.

\`\`\`sh
npm run bench                                # all measurements; several hours, most of them for growth
npm run bench -- --only bare-jobs,real-job   # some of bare-jobs, real-job, limit, latency, many-schedules, growth
npm run bench -- --only growth --minutes 30
npm run bench:quick                          # two minutes; fails if a ratio dropped by more than a quarter
npm run bench:report                         # writes this page and the soak page
\`\`\``;

/** A higher load average means that other programs used the machine. */
const maxQuietLoad = 1;

function environments(sections: Section[], letter: (section: Section) => string): string {
  const letters = new Map<string, string[]>();
  const busy: string[] = [];
  for (const section of sections) {
    if (!section.measuredOn) continue;
    const { peers, loadBefore } = section.measuredOn;
    const versions = Object.entries(peers).map((pair) => pair.join(' '));
    const line = [describeEnvironment(section.measuredOn), ...versions].join(', ');
    letters.set(line, [...(letters.get(line) ?? []), letter(section)]);
    if (loadBefore > maxQuietLoad) busy.push(`${letter(section)} ${loadBefore}`);
  }
  if (letters.size === 0) return 'Not measured yet.';
  const lines = [...letters].map(([line, own]) => `${own.join(', ')}: ${line}.`);
  const warning = `Other programs used the machine before these measurements (load average): ${busy.join(', ')}. Treat their figures with care.`;
  return [...lines, ...(busy.length > 0 ? [warning] : [])].join('\n\n');
}

function goals(sections: Section[]): string {
  const all = sections.flatMap((section) => section.goals ?? []);
  if (all.length === 0) return 'Not measured yet.';
  return table(
    ['Goal', 'target', 'measured', 'verdict'],
    all.map(({ what, goal, found, isMet }) => [what, goal, found, verdict(isMet)]),
  );
}

const alwaysFaster = [
  'Peers run any job. Syncline runs syncs of connections only.',
  'Peers support cron expressions. Syncline supports intervals of at least one minute.',
  'BullMQ is designed for Redis and was measured on Postgres only.',
];

function fasterPeers(sections: Section[]): string {
  return [...sections.flatMap((section) => section.fasterPeers ?? []), ...alwaysFaster]
    .map((sentence) => `- ${sentence}`)
    .join('\n');
}
