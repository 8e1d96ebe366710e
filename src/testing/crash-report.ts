export interface CrashReport {
  /** Of the baseline. 0: the connector does not use `context.fetch`. */
  requests: number;
  pages: number;
  /** Before and after every request, and before storing pages. */
  crashes: number;
  signals: number;
  faults: number;
  /** Rounds with a second crash. */
  secondCrashes: number;
  /** Rounds ended before their crash or fault. */
  unreached: number;
  /** Rounds beyond `maxRounds`. */
  left: number;
  seed: number;
  /** Empty without `keepGoing`: the first problem throws. */
  problems: CrashProblem[];
}

export interface CrashProblem {
  /** Round name, for `only`. */
  round: string;
  problem: string;
  seed: number;
}

export function formatProblem({ round, problem, seed }: CrashProblem): string {
  return `${capitalize(round)}: ${problem}. To reproduce: only: '${round}', seed: ${seed}.`.replace(
    '?.',
    '?',
  );
}

export function formatCrashReport(report: CrashReport): string {
  const { requests, pages, signals, crashes, faults, secondCrashes, unreached, left, seed } = report;
  const lines = [
    `Baseline sync: ${plural(signals, 'signal')}, ${plural(pages, 'page')}, ${plural(requests, 'request')}.`,
    ...(requests === 0
      ? ['The connector does not use context.fetch: it was stopped only between pages, without faults.']
      : []),
    `Injected: ${plural(crashes, 'crash', 'crashes')}, ${plural(faults, 'fault')}, ` +
      `${plural(secondCrashes, 'second crash', 'second crashes')}; seed ${seed}.`,
    ...(unreached > 0
      ? [
          `${plural(unreached, 'round')} ended before their crash or fault: ` +
            'the provider does not respond the same in each round.',
        ]
      : []),
    ...(left > 0 ? [`${plural(left, 'round')} were skipped: raise maxRounds to run them.`] : []),
  ];
  const verdict =
    report.problems.length === 0
      ? ['No signals lost, none duplicated.']
      : report.problems.map((problem) => `✗ ${formatProblem(problem)}`);
  return [...lines, ...verdict].join('\n');
}

const plural = (n: number, singular: string, pluralForm = `${singular}s`) =>
  `${n.toLocaleString('en')} ${n === 1 ? singular : pluralForm}`;

const capitalize = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
