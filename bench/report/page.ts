import { describeEnvironment, type Recorded } from '../tools/results.ts';
import { table, verdict } from '../tools/text.ts';
import { bareJobs, limit, realJob } from './comparisons.ts';
import { growth } from './growth.ts';
import { latency } from './latency.ts';
import { manySchedules } from './many-schedules.ts';
import { fillTemplate, type Section } from './section.ts';

/** In the order of the page. */
const sections: Record<string, (result: never) => Section> = {
  'bare-jobs': bareJobs,
  'real-job': realJob,
  'many-schedules': manySchedules,
  limit,
  latency,
  growth,
};

export const describeResult = (name: string, result: object) => sections[name]?.(result as never) as Section;

export function benchmarksPage(read: (name: string) => Recorded) {
  const all = Object.keys(sections).map((name, i) => {
    const result = read(name);
    return { name, letter: `(${'abcdef'[i]})`, ...result, ...describeResult(name, result) };
  });
  const goals = all.flatMap((section) => section.goals);
  const texts: Record<string, string> = {
    environments: environments(all),
    goals: table(
      ['Goal', 'target', 'measured', 'verdict'],
      goals.map(({ what, goal, found, isMet }) => [what, goal, found, verdict(isMet)]),
    ),
    'faster peers': all.flatMap(({ fasterPeers = [] }) => fasterPeers.map((one) => `- ${one}`)).join('\n'),
  };
  for (const section of all)
    for (const [key, text] of Object.entries(section.texts)) texts[`${section.name}: ${key}`] = text;
  const charts = Object.fromEntries(all.map(({ name, chart }) => [name, chart]));
  return { text: fillTemplate('benchmarks', texts), charts, sections: all };
}

/** A higher load average means that other programs used the machine. */
const maxQuietLoad = 1;

function environments(all: (Recorded & { letter: string })[]): string {
  const letters = new Map<string, string[]>();
  for (const { measuredOn, letter } of all) {
    const versions = Object.entries(measuredOn.peers).map((pair) => pair.join(' '));
    const line = [describeEnvironment(measuredOn), ...versions].join(', ');
    letters.set(line, [...(letters.get(line) ?? []), letter]);
  }
  const lines = [...letters].map(([line, own]) => `${own.join(', ')}: ${line}.`);
  const busy = all
    .filter(({ measuredOn }) => measuredOn.loadBefore > maxQuietLoad)
    .map(({ measuredOn, letter }) => `${letter} ${measuredOn.loadBefore}`);
  const warning = `Other programs used the machine before these measurements (load average): ${busy.join(', ')}. Treat their figures with care.`;
  return [...lines, ...(busy.length > 0 ? [warning] : [])].join('\n\n');
}
