import { readFileSync, writeFileSync } from 'node:fs';
import type { Comparison } from './comparison/comparison.ts';
import { ratios } from './comparison/ranking.ts';
import { synclineName } from './comparison/subjects.ts';
import { fixed, median } from './tools/text.ts';

const minPart = 0.75;
const file = new URL('recorded.json', import.meta.url);

/** The rate of Syncline divided by the rate of each other subject. Unlike rates, ratios transfer between machines. */
type Ratios = Record<string, number>;

const read = () => JSON.parse(readFileSync(file, 'utf8')) as Ratios;

function ratiosOf(comparisons: Record<string, Comparison>): Ratios {
  return Object.fromEntries(
    Object.entries(comparisons).flatMap(([name, comparison]) =>
      [...new Set(comparison.rounds.flat().map(({ subject }) => subject))]
        .filter((subject) => subject !== synclineName)
        .map((subject) => [
          `${name}: ${synclineName} / ${subject}`,
          Number(fixed(2)(median(ratios(comparison, synclineName, subject)))),
        ]),
    ),
  );
}

export function recordRatios(comparisons: Record<string, Comparison>): void {
  writeFileSync(file, `${JSON.stringify({ ...read(), ...ratiosOf(comparisons) }, null, 2)}\n`);
}

export function compareWithRecorded(comparisons: Record<string, Comparison>): string {
  const recorded = read();
  const dropped = Object.entries(ratiosOf(comparisons)).filter(
    ([name, ratio]) => ratio < (recorded[name] ?? 0) * minPart,
  );
  if (dropped.length === 0) return 'No ratio dropped by more than a quarter.';
  process.exitCode = 1;
  return dropped
    .map(([name, ratio]) => `DROPPED: ${name}: recorded ${recorded[name]}, measured ${ratio}`)
    .join('\n');
}
