export interface CrashReport {
  /** Requests and pages of an undisturbed sync. No requests: the connector does not use `context.fetch`. */
  requests: number;
  pages: number;
  /** How often it was stopped: before and after every request, and before storing every page. */
  crashes: number;
  signals: number;
  /** Wrong answers that were given. */
  faults: number;
  /** Rounds that were stopped a second time. */
  secondCrashes: number;
  /** Rounds that ended before they came to where they were to be disturbed. */
  unreached: number;
  /** Rounds that were left out because there would be too many. */
  left: number;
  seed: number;
  /** What was lost or doubled, and where; always empty unless `keepGoing` is given, because the first is thrown. */
  problems: CrashProblem[];
}

export interface CrashProblem {
  /** The name of the round, for `only`. */
  round: string;
  problem: string;
  seed: number;
}

/** What went wrong, where, and how to see it again. */
export function formatProblem({ round, problem, seed }: CrashProblem): string {
  return `${capital(round)}: ${problem}. To see it again: only: '${round}', seed: ${seed}.`.replace(
    '?.',
    '?',
  );
}

/** For a terminal. */
export function formatCrashReport(report: CrashReport): string {
  const { requests, pages, signals, crashes, faults, secondCrashes, unreached, left, seed } = report;
  const lines = [
    `An undisturbed sync: ${many(signals, 'signal')}, ${many(pages, 'page')}, ${many(requests, 'request')}.`,
    ...(requests === 0
      ? [
          'The connector does not use context.fetch: it was stopped between pages only, and given no wrong answers.',
        ]
      : []),
    `Disturbed: ${many(crashes, 'crash', 'crashes')}, ${many(faults, 'wrong answer')}, ${many(secondCrashes, 'second crash', 'second crashes')}; seed ${seed}.`,
    ...(unreached > 0
      ? [
          `${many(unreached, 'round')} ended before the place where they were to be disturbed: the provider does not answer each round the same.`,
        ]
      : []),
    ...(left > 0 ? [`${many(left, 'round')} were left out: raise maxRounds to play them.`] : []),
  ];
  const verdict =
    report.problems.length === 0
      ? ['Nothing was lost, nothing was doubled.']
      : report.problems.map((one) => `✗ ${formatProblem(one)}`);
  return [...lines, ...verdict].join('\n');
}

const many = (n: number, one: string, more = `${one}s`) =>
  `${n.toLocaleString('en')} ${n === 1 ? one : more}`;

const capital = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
