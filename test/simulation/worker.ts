/** Runs simulations in a process of its own. Its one argument, JSON, says which; it writes a line of JSON for each. */
import { openSimulatedDatabase } from './database.ts';
import { simulate } from './simulate.ts';

export interface Assignment {
  /** An empty database. */
  url: string;
  seeds: number[];
  /** Whether to end with the first seed that shows a violation. */
  stopsAtFirst: boolean;
  /** Whether to tell all that happened, and not only the end of what went wrong. */
  tellsAll: boolean;
}

/** What came of one seed, as it is written. */
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
  /** What happened: the last lines where something was violated, all where that was asked for. */
  lines: readonly string[];
}

const { url, seeds, stopsAtFirst, tellsAll } = JSON.parse(process.argv[2] as string) as Assignment;
const tailLines = 60;
const tell = (report: Report) =>
  new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(report)}\n`, () => resolve()));

let strayed: unknown;
process.on('unhandledRejection', (error) => {
  strayed ??= error;
});

const database = await openSimulatedDatabase(url);
for (const seed of seeds) {
  const report = await reportOf(seed);
  await tell(report);
  if (stopsAtFirst && report.violations.length > 0) break;
}
await database.close();
process.exit(0);

async function reportOf(seed: number): Promise<Report> {
  strayed = undefined;
  try {
    const { violations, situations, lines, ...rest } = await simulate(database, seed);
    const all =
      strayed === undefined ? violations : [...violations, failure('no promise is left alone', strayed)];
    return {
      ...rest,
      violations: all as Report['violations'],
      situations: [...situations],
      lines: tellsAll ? lines : all.length > 0 ? lines.slice(-tailLines) : [],
    };
  } catch (error) {
    return {
      seed,
      hash: '',
      steps: 0,
      violations: [failure('the simulation comes to its end', error)],
      situations: [],
      lines: [],
    };
  }
}

function failure(invariant: string, error: unknown): Report['violations'][number] {
  return { invariant, detail: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
