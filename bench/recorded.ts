import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Contest } from './tools/contest.ts';
import { fixed, median } from './tools/report.ts';
import { ratios } from './tools/standings.ts';

/** How much of a recorded ratio must still be there: less is no accident of the machine. */
const leastPart = 0.75;

const file = new URL('recorded.json', import.meta.url);

/** Syncline's speed to that of each peer: ratios of one machine say something on another, rates do not. */
type Ratios = Record<string, number>;

function ratiosOf(contests: Record<string, Contest>): Ratios {
  const found: Ratios = {};
  for (const [name, contest] of Object.entries(contests)) {
    for (const peer of Object.keys(contest.about).filter((entrant) => entrant !== 'Syncline')) {
      found[`${name}, Syncline to ${peer}`] = Number(fixed(2)(median(ratios(contest, 'Syncline', peer))));
    }
  }
  return found;
}

/** Those that were not measured now stay as they were recorded. */
export function recordRatios(contests: Record<string, Contest>): void {
  writeFileSync(file, `${JSON.stringify({ ...read(), ...ratiosOf(contests) }, null, 2)}\n`);
}

/** Says what fell too far, and has the process end with 1 if anything did. */
export function compareWithRecorded(contests: Record<string, Contest>): string {
  const recorded = read();
  const fallen = Object.entries(ratiosOf(contests)).filter(
    ([what, ratio]) => ratio < (recorded[what] ?? 0) * leastPart,
  );
  if (fallen.length === 0) return 'No ratio fell by more than a quarter of what is recorded.';
  process.exitCode = 1;
  return fallen
    .map(([what, ratio]) => `FELL: ${what}: recorded ${recorded[what]}, found ${ratio}`)
    .join('\n');
}

function read(): Ratios {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Ratios) : {};
}
