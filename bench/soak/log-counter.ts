import { type Logger, pino } from 'pino';

export interface LogCounts {
  errors: number;
  /** Those that were to be expected are not among them. */
  warnings: number;
  /** The first of each kind. */
  examples: string[];
}

const [warn, error] = [40, 50];
const mostExamples = 5;

/** A logger that counts lines instead of writing them. */
export function createLogCounter(isExpected: (message: string) => boolean): {
  logger: Logger;
  /** What was counted since it was last asked. */
  take: () => LogCounts;
} {
  let counts = emptyCounts();
  const kinds = new Set<string>();
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    if (level < error && isExpected(msg)) return;
    if (level >= error) counts.errors++;
    else counts.warnings++;
    const kind = msg.replaceAll(/[\da-f]*\d[\da-f]*/g, '#');
    if (kinds.size >= mostExamples || kinds.has(kind)) return;
    kinds.add(kind);
    counts.examples.push(msg);
  };
  return {
    logger: pino({ level: pino.levels.labels[warn] ?? 'warn', base: null }, { write }),
    take: () => {
      const taken = counts;
      counts = emptyCounts();
      return taken;
    },
  };
}

function emptyCounts(): LogCounts {
  return { errors: 0, warnings: 0, examples: [] };
}
