import { type Command, Option } from 'commander';
import type { Connector } from '../contract/connector.ts';
import { createLogger } from '../platform/log.ts';
import { type CrashProgress, type CrashReport, crashTest, formatCrashReport } from '../testing/index.ts';
import { type Finding, inspect } from './connector-checks.ts';
import { configOf, credentialOf, type InputOptions, trafficOf, withInput } from './connector-input.ts';
import { loadConnector } from './connector-load.ts';
import { wholeNumber } from './options.ts';
import { printResult } from './output.ts';
import { logTo, terminal } from './terminal.ts';

interface TestOptions extends InputOptions {
  chaos?: boolean;
  expect?: string;
  faults: 'every' | 'sample' | 'none';
  seed?: string;
  only?: string;
}

export function addConnectorTest(group: Command): void {
  withInput(group.command('test'))
    .description('sync twice in memory and check for duplicates; with --chaos, also run the crash test')
    .option(
      '--chaos',
      'stop at every request and page, inject faulty responses, and report lost or duplicate signals',
    )
    .option('--expect <n>', 'number of signals that the first sync must return')
    .addOption(
      new Option('--faults <which>', 'faulty responses injected by the crash test')
        .choices(['every', 'sample', 'none'])
        .default('every'),
    )
    .option('--seed <n>', 'random seed of the crash test')
    .option('--only <round>', 'run only this round of the crash test, by the name printed with a failure')
    .addHelpText(
      'after',
      `
Exit code: 0 if there are no problems (warnings allowed), otherwise 1.
The crash test repeats the same requests several hundred times: use a test account or a recording.

Examples:
  $ syncline connector test ./tracker.ts --config '{"project":"apollo"}'
  $ syncline connector test ./tracker.ts --config-file apollo.json --chaos
  $ syncline connector test ./tracker.ts --config-file apollo.json --replay apollo.jsonl --chaos --json
  $ syncline connector test ./tracker.ts --chaos --only 'stopped before request 2' --seed 7`,
    )
    .action(async (file: string, options: TestOptions) => {
      const { findings, signals } = await checkConnector(file, options);
      const report = options.chaos ? await chaos(file, options) : undefined;
      const problems = findings.filter(({ level }) => level === 'problem');
      const ok = problems.length === 0 && (report?.problems.length ?? 0) === 0;
      if (!ok) terminal().exitCode = 1;
      printResult(options.json, { ok, signals, findings, chaos: report ?? null }, () => [
        ...findings.map(({ level, text }) => `${level === 'problem' ? '✗' : '!'} ${text}`),
        ...(problems.length === 0
          ? [`✓ Synced ${signals} signals; the second sync found no duplicates.`]
          : []),
        ...(report ? formatCrashReport(report).split('\n') : []),
      ]);
    });
}

async function setUp(file: string, options: TestOptions, { isChaos = false } = {}) {
  const connector = await loadConnector(file);
  const credential = credentialOf(options);
  const { replay, ...traffic } = trafficOf(options, credential, { repeat: isChaos });
  const log = createLogger({
    // Injected faults cause warnings.
    level: options.verbose ? 'debug' : isChaos ? 'silent' : 'warn',
    readable: !options.json,
    to: logTo('stderr'),
  });
  return {
    connector,
    replay,
    expected: options.expect === undefined ? undefined : wholeNumber('--expect', options.expect, 0, 1e9),
    memory: { config: await configOf(options, connector), credential, log, ...traffic },
  };
}

async function checkConnector(
  file: string,
  options: TestOptions,
): Promise<{ findings: Finding[]; signals: number }> {
  const { connector, memory, expected, replay } = await setUp(file, options);
  return inspect(connector, memory, { expected, replay });
}

/** Module variables do not survive a process. */
async function chaos(file: string, options: TestOptions): Promise<CrashReport> {
  // The checks wrote the recording.
  const { record: _, ...rest } = options;
  const { memory, expected, replay } = await setUp(file, rest, { isChaos: true });
  const seed = options.seed === undefined ? undefined : wholeNumber('--seed', options.seed, 0, 2 ** 31);
  const progress = terminal().stderr.isTTY && !options.json ? progressLine : undefined;
  const make = (): Promise<Connector> => loadConnector(file);
  const { only, faults } = options;
  return crashTest(make, {
    ...memory,
    expected,
    faults,
    seed,
    only,
    reset: replay && (() => replay.reset()),
    keepGoing: true,
    onProgress: progress,
  });
}

function progressLine({ done, of: total, round }: CrashProgress): void {
  const text = done === total ? '' : `crash test: ${done} of ${total}, ${round}`;
  terminal().stderr.write(`\r\u001b[K${text}`);
}
