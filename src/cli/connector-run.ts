import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describeError, invalidArgument } from '../contract/errors.ts';
import { createLogger } from '../platform/log.ts';
import { systemPorts } from '../platform/ports.ts';
import {
  connectInMemory,
  type MemoryConnection,
  type MemoryRun,
  type MemorySignal,
} from '../testing/index.ts';
import { invalid, show } from '../values/arguments.ts';
import {
  configOf,
  credentialOf,
  type InputOptions,
  readInput,
  trafficOf,
  withInput,
} from './connector-input.ts';
import { cursorLine, nextLine, runLine, signalLines } from './connector-lines.ts';
import { loadConnector } from './connector-load.ts';
import { filesOf, stateOf, untilChanged } from './connector-watch.ts';
import { wholeNumber } from './options.ts';
import { count, note, printResult } from './output.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';
import { logTo, pathOf, terminal } from './terminal.ts';

interface RunOptions extends InputOptions {
  cursorFile?: string;
  full?: boolean;
  limit: string;
  watch?: boolean;
}

const defaultLimit = 1000;
const maxLimit = 100_000;

export function addConnectorRun(group: Command): void {
  withInput(group.command('run'))
    .description('run a connector in memory and print its signals, without a database')
    .option(
      '--cursor-file <file>',
      'file that holds the cursor: read before the run if it exists, written after it',
    )
    .option('--full', 'run a full sync from the beginning, ignoring the cursor')
    .option(
      '--limit <n>',
      `stop after the page that reaches this number of signals, 1 to ${maxLimit}`,
      `${defaultLimit}`,
    )
    .option('--watch', 'run again when the file or its imports change, and print new signals')
    .addHelpText(
      'after',
      `
Exit code: 0 if all runs succeeded, otherwise 1.

Examples:
  $ syncline connector run ./tracker.ts --config '{"project":"apollo"}'
  $ syncline connector run ./tracker.ts --config-file apollo.json --credential-from-env TOKEN --verbose
  $ syncline connector run ./tracker.ts --config-file apollo.json --watch
  $ syncline connector run ./tracker.ts --config-file apollo.json --record apollo.jsonl
  $ syncline connector run ./tracker.ts --config-file apollo.json --replay apollo.jsonl --json | jq .signals`,
    )
    .action(async (file: string, options: RunOptions) => {
      const limit = wholeNumber('--limit', options.limit, 1, maxLimit);
      if (options.watch && options.json)
        throw invalid('--watch and --json cannot be combined.', 'Remove one of them.');
      if (options.watch) return watch(file, options, limit);
      const hasFailed = await runOnce(file, options, limit, new AbortController().signal);
      if (hasFailed) terminal().exitCode = 1;
    });
}

async function watch(file: string, options: RunOptions, limit: number): Promise<void> {
  const shutdown = abortOnShutdownSignal();
  const shown = new Set<string>();
  for (;;) {
    const files = filesOf(file);
    // Before the run: files may change during it.
    const before = stateOf(files);
    await runOnce(file, options, limit, shutdown, shown).catch((error: unknown) => {
      // A later save may fix it, unless the file never existed.
      if (shown.size === 0 && !existsSync(pathOf(file))) throw error;
      note(`error: ${describeError(error)}`);
    });
    note(`Watching ${count(files.length, 'file')} for changes. Press Ctrl-C to stop.`);
    if (!(await untilChanged(files, before, shutdown))) return;
  }
}

async function runOnce(
  file: string,
  options: RunOptions,
  limit: number,
  abortSignal: AbortSignal,
  shown?: Set<string>,
): Promise<boolean> {
  const connector = await loadConnector(file);
  const config = await configOf(options, connector);
  const credential = credentialOf(options);
  const log = createLogger({
    level: options.verbose ? 'debug' : 'warn',
    readable: !options.json,
    to: logTo('stderr'),
  });
  const { replay, ...traffic } = trafficOf(options, credential);
  const connection = connectInMemory(connector, {
    config,
    credential,
    cursor: options.full ? undefined : storedCursor(options),
    abortSignal,
    log,
    ...traffic,
  });
  const runs = await walk(connection, options, limit, shown ?? new Set(), abortSignal);
  if (options.cursorFile !== undefined && connection.cursor !== undefined)
    writeFileSync(pathOf(options.cursorFile), `${JSON.stringify(connection.cursor)}\n`);

  const last = runs.at(-1);
  const unused = replay?.unused() ?? [];
  printResult(options.json, toJson(connection, runs, unused), () => [
    `${count(connection.signals.length, 'signal')} in ${count(runs.length, 'run')} of ${connector.provider}.`,
    cursorLine(connection.cursor),
    ...(last ? [nextLine(last, systemPorts.now())] : []),
    ...(last?.error?.kind === 'unauthorized' && !credential
      ? ['Pass a credential with --credential-from-env <name> or --credential-file <file>.']
      : []),
    ...(options.record === undefined
      ? []
      : [`Recorded to ${options.record}. Review the file before you commit it.`]),
    ...(unused.length > 0 ? [`Recorded but not requested: ${unused.slice(0, 5).join(' · ')}`] : []),
  ]);
  return last?.outcome !== 'succeeded';
}

async function walk(
  connection: MemoryConnection,
  { json, full }: RunOptions,
  limit: number,
  shown: Set<string>,
  abortSignal: AbortSignal,
): Promise<MemoryRun[]> {
  const runs: MemoryRun[] = [];
  for (;;) {
    const before = connection.signals.length;
    const run = await connection.run({ type: full ? 'full' : 'incremental' });
    runs.push(run);
    if (!json) printRun(run, runs.length, connection.signals.slice(before), shown);
    const isDone = !run.next || run.next.notBefore !== undefined || connection.signals.length >= limit;
    if (isDone || abortSignal.aborted) return runs;
  }
}

function printRun(run: MemoryRun, n: number, found: readonly MemorySignal[], shown: Set<string>): void {
  const fresh = found.filter((signal) => !shown.has(JSON.stringify(signal)));
  for (const signal of fresh) shown.add(JSON.stringify(signal));
  const unchanged = found.length - fresh.length;
  printResult(false, undefined, () => [
    runLine(n, run) + (unchanged > 0 ? ` (${unchanged} unchanged)` : ''),
    ...signalLines(fresh),
  ]);
}

function storedCursor({ cursorFile }: RunOptions): unknown {
  if (cursorFile === undefined || !existsSync(pathOf(cursorFile))) return undefined;
  try {
    return JSON.parse(readInput('--cursor-file', cursorFile));
  } catch (error) {
    throw invalidArgument({
      field: '--cursor-file',
      expected: 'a file with valid JSON',
      value: `${show(cursorFile)} (${describeError(error)})`,
      hint: 'Correct it, or delete it to start from the beginning.',
    });
  }
}

function toJson(connection: MemoryConnection, runs: MemoryRun[], unused: string[]) {
  return {
    signals: connection.signals.map(({ kind, occurredAt, dedupeKey, payload }) => ({
      kind,
      occurred_at: occurredAt,
      dedupe_key: dedupeKey,
      payload,
    })),
    cursor: connection.cursor ?? null,
    status: connection.status,
    runs: runs.map(({ job, outcome, stored, absorbed, error, warning, next }) => ({
      type: job.type,
      outcome,
      stored,
      absorbed,
      error: error ?? null,
      warning: warning ?? null,
      next: next ? { type: next.type, not_before: next.notBefore?.toISOString() ?? null } : null,
    })),
    unused,
  };
}
