/** Takes an `Assignment` as JSON; writes one JSON line per seed. */
import { openSimulatedDatabase } from './database.ts';
import { simulate } from './simulate.ts';

export interface Assignment {
  url: string;
  seeds: number[];
  stopAtFirst: boolean;
  fullTrace: boolean;
}

export interface Report {
  seed: number;
  hash: string;
  steps: number;
  violations: {
    invariant: string;
    detail: string;
    connectionId?: string;
    jobId?: string;
    position?: string;
  }[];
  situations: string[];
  /** The last lines after a violation; all lines with `fullTrace`. */
  lines: readonly string[];
}

const { url, seeds, stopAtFirst, fullTrace } = JSON.parse(process.argv[2] as string) as Assignment;
const tailLines = 60;
const writeReport = (report: Report) =>
  new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(report)}\n`, () => resolve()));

let unhandledRejection: unknown;
process.on('unhandledRejection', (error) => {
  unhandledRejection ??= error;
});

const database = await openSimulatedDatabase(url);
for (const seed of seeds) {
  const report = await reportOf(seed);
  await writeReport(report);
  if (stopAtFirst && report.violations.length > 0) break;
}
await database.close();
process.exit(0);

async function reportOf(seed: number): Promise<Report> {
  unhandledRejection = undefined;
  try {
    const { violations, situations, lines, ...rest } = await simulate(database, seed);
    const all =
      unhandledRejection === undefined
        ? violations
        : [...violations, failure('no rejection is unhandled', unhandledRejection)];
    return {
      ...rest,
      violations: all as Report['violations'],
      situations: [...situations],
      lines: fullTrace ? lines : all.length > 0 ? lines.slice(-tailLines) : [],
    };
  } catch (error) {
    return {
      seed,
      hash: '',
      steps: 0,
      violations: [failure('the simulation completes', error)],
      situations: [],
      lines: [],
    };
  }
}

function failure(invariant: string, error: unknown): Report['violations'][number] {
  return { invariant, detail: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
