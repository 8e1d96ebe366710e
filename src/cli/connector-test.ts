import { type Command, Option } from 'commander';
import type { Connector } from '../contract/connector.ts';
import { createLogger } from '../telemetry/index.ts';
import { type CrashProgress, type CrashReport, crashTest, formatCrashReport } from '../testing/index.ts';
import { type Finding, inspect } from './connector-checks.ts';
import { configOf, credentialOf, type InputOptions, trafficOf, withInput } from './connector-input.ts';
import { loadConnector } from './connector-load.ts';
import { wholeNumber } from './options.ts';
import { answer } from './output.ts';

interface TestOptions extends InputOptions {
  chaos?: boolean;
  expect?: string;
  faults: 'every' | 'sample' | 'none';
  seed?: string;
  only?: string;
}

export function addConnectorTest(group: Command): void {
  withInput(group.command('test'))
    .description(
      'sync twice in memory: the second sync must find nothing again; with --chaos the crash test too',
    )
    .option(
      '--chaos',
      'stop it at every request and page and give it wrong answers: nothing may be lost or doubled',
    )
    .option('--expect <n>', 'how many signals a first sync must find')
    .addOption(
      new Option('--faults <which>', 'wrong answers of the crash test')
        .choices(['every', 'sample', 'none'])
        .default('every'),
    )
    .option('--seed <n>', 'what the crash test draws its samples with')
    .option('--only <round>', 'only this round of the crash test, by the name that a failure told')
    .addHelpText(
      'after',
      `
It exits with 0 if nothing is wrong, else with 1. Warnings do not count as wrong.
The crash test asks the provider for the same things some hundred times: give it a test account, or a recording.

Examples:
  $ syncline connector test ./tracker.ts --config '{"project":"apollo"}'
  $ syncline connector test ./tracker.ts --config-file apollo.json --chaos
  $ syncline connector test ./tracker.ts --config-file apollo.json --replay apollo.jsonl --chaos --json
  $ syncline connector test ./tracker.ts --config-file apollo.json --chaos --only 'stopped before request 2' --seed 7`,
    )
    .action(async (file: string, options: TestOptions) => {
      const { findings, signals } = await inspected(file, options);
      const report = options.chaos ? await chaos(file, options) : undefined;
      const problems = findings.filter(({ level }) => level === 'problem');
      const isFine = problems.length === 0 && (report?.problems.length ?? 0) === 0;
      if (!isFine) process.exitCode = 1;
      answer(options.json, { ok: isFine, signals, findings, chaos: report ?? null }, () => [
        ...findings.map(({ level, text }) => `${level === 'problem' ? '✗' : '!'} ${text}`),
        ...(problems.length === 0
          ? [`✓ Synced ${signals} signals; a second sync found none of them again.`]
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
    // What a connector warns of while it is disturbed on purpose is no news.
    level: options.verbose ? 'debug' : isChaos ? 'silent' : 'warn',
    readable: !options.json,
    to: 'stderr',
  });
  return {
    connector,
    replay,
    expected: options.expect === undefined ? undefined : wholeNumber('--expect', options.expect, 0, 1e9),
    memory: { config: await configOf(options, connector), credential, log, ...traffic },
  };
}

async function inspected(
  file: string,
  options: TestOptions,
): Promise<{ findings: Finding[]; signals: number }> {
  const { connector, memory, expected, replay } = await setUp(file, options);
  return inspect(connector, memory, { expected, isReplay: replay !== undefined });
}

/** Each crash loads the file anew: what a module keeps in its variables dies with its process. */
async function chaos(file: string, options: TestOptions): Promise<CrashReport> {
  // What the checks have recorded is enough.
  const { record: _, ...rest } = options;
  const { memory, expected, replay } = await setUp(file, rest, { isChaos: true });
  const seed = options.seed === undefined ? undefined : wholeNumber('--seed', options.seed, 0, 2 ** 31);
  const progress = process.stderr.isTTY && !options.json ? progressLine : undefined;
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

/** One line that is written over, and gone in the end. */
function progressLine({ done, of, round }: CrashProgress): void {
  const text = done === of ? '' : `crash test: ${done} of ${of}, ${round}`;
  process.stderr.write(`\r\u001b[K${text}`);
}
