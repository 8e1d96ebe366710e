import { table, verdict } from '../tools/report.ts';
import type { MeasuredOn } from '../tools/results.ts';
import type { Section } from './section.ts';

/** More than this says that others used the machine too. */
const quietLoad = 1;

/** The whole page, in Markdown. */
export function page(sections: Section[]): string {
  return `${[
    '# Benchmarks',
    `Syncline beside graphile-worker, pg-boss and BullMQ, all of them on one Postgres that keeps its promises, and alone. This page is
written by \`npm run bench:report\` from the raw figures in \`bench/results/\`.`,
    '## How it is measured',
    machines(sections),
    how,
    '## Goals',
    goals(sections),
    '## Where a peer is better',
    betterPeers(sections),
    ...sections.flatMap(({ title, text }, i) => [`## (${'abcdef'[i]}) ${title}`, text]),
  ].join('\n\n')}\n`;
}

const how = `Nothing is switched off that keeps data safe: \`fsync\` and \`synchronous_commit\` are on for everybody. Postgres and all contenders share the
same cores. Each peer runs with its fastest documented settings for durable work, listed below. Every round is on a database of its own,
another contender comes first each time, and after every round SQL checks that all of the work was done, once. Rates are of this machine;
ratios within a round say more about another one.

\`\`\`sh
npm run bench                                # everything; hours, most of them for growth
npm run bench -- --only bare-jobs,real-job   # some of: bare-jobs, real-job, limit, latency, many-schedules, growth
npm run bench -- --only growth --minutes 30
npm run bench:quick                          # two minutes: whether a ratio fell by more than a quarter
npm run bench:report                         # writes this page
\`\`\``;

/** One line for each machine and its settings, with what was measured on it. */
function machines(sections: Section[]): string {
  const measured = sections.flatMap(({ measuredOn }, i) =>
    measuredOn ? { measuredOn, letter: 'abcdef'[i] } : [],
  );
  const letters = new Map<string, string[]>();
  for (const { measuredOn, letter } of measured) {
    const line = machine(measuredOn);
    letters.set(line, [...(letters.get(line) ?? []), `(${letter})`]);
  }
  const loads = measured
    .filter(({ measuredOn }) => measuredOn.loadBefore > quietLoad)
    .map(({ measuredOn, letter }) => `(${letter}) at a load of ${measuredOn.loadBefore}`);
  const noise =
    loads.length > 0
      ? [
          `The machine was busy with something else when these began, so take their figures with care: ${loads.join(', ')}.`,
        ]
      : [];
  return (
    [...[...letters].map(([line, own]) => `${own.join(', ')}: ${line}.`), ...noise].join('\n\n') ||
    'Not measured yet.'
  );
}

function machine({ node, postgres, cores, cpu, memoryGb, settings, peers = {} }: MeasuredOn): string {
  const pairs = (record: Record<string, string>) => Object.entries(record).map((pair) => pair.join(' '));
  return [
    `Node ${node}`,
    `Postgres ${postgres} (${pairs(settings).join(', ')})`,
    `${cores} cores (${cpu})`,
    `${memoryGb} GB of memory`,
    ...pairs(peers),
  ].join(', ');
}

function goals(sections: Section[]): string {
  const all = sections.flatMap((section) => section.goals ?? []);
  if (all.length === 0) return 'Not measured yet.';
  return table(
    ['Goal', 'to reach', 'found', 'verdict'],
    all.map(({ what, goal, found, isMet }) => [what, goal, found, verdict(isMet)]),
  );
}

const always = [
  'Peers run any job. Syncline runs syncs of connections, and nothing smaller or else.',
  'Peers know cron expressions; Syncline knows intervals of a minute or more.',
  'BullMQ is at home on Redis, and was measured on Postgres only.',
];

function betterPeers(sections: Section[]): string {
  return [...sections.flatMap((section) => section.betterPeers ?? []), ...always]
    .map((sentence) => `- ${sentence}`)
    .join('\n');
}
