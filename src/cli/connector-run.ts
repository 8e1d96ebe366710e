import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describeError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import { createLogger } from '../telemetry/index.ts';
import {
  connectInMemory,
  type MemoryConnection,
  type MemoryRun,
  type MemorySignal,
} from '../testing/index.ts';
import { invalid } from '../values/arguments.ts';
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
import { answer, count, note } from './output.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';

interface RunOptions extends InputOptions {
  cursorFile?: string;
  full?: boolean;
  limit: string;
  watch?: boolean;
}

/** A table of more is nothing that anybody reads. */
const defaultLimit = 1000;
const maxLimit = 100_000;

export function addConnectorRun(group: Command): void {
  withInput(group.command('run'))
    .description('run a connector once, in memory, and show what it finds; no database is needed')
    .option(
      '--cursor-file <file>',
      'start from the cursor in this file if it exists, and leave the new one there',
    )
    .option('--full', 'a full sync: from the beginning, whatever the cursor')
    .option(
      '--limit <n>',
      `stop after the page with which so many signals are there, 1 to ${maxLimit}`,
      `${defaultLimit}`,
    )
    .option('--watch', 'run again whenever the file, or what it imports, changes, and show what is new')
    .addHelpText(
      'after',
      `
It exits with 0 if every run succeeded, else with 1.

Examples:
  $ syncline connector run ./tracker.ts --config '{"project":"apollo"}'
  $ syncline connector run ./tracker.ts --config-file apollo.json --credential-from-env TRACKER_TOKEN --verbose
  $ syncline connector run ./tracker.ts --config-file apollo.json --watch
  $ syncline connector run ./tracker.ts --config-file apollo.json --record apollo.jsonl
  $ syncline connector run ./tracker.ts --config-file apollo.json --replay apollo.jsonl --json | jq .signals`,
    )
    .action(async (file: string, options: RunOptions) => {
      const limit = wholeNumber('--limit', options.limit, 1, maxLimit);
      if (options.watch && options.json)
        throw invalid('--watch and --json cannot go together.', 'Leave one out.');
      if (options.watch) return watch(file, options, limit);
      const hasFailed = await once(file, options, limit, new AbortController().signal);
      if (hasFailed) process.exitCode = 1;
    });
}

async function watch(file: string, options: RunOptions, limit: number): Promise<void> {
  const told = abortOnShutdownSignal();
  const shown = new Set<string>();
  for (;;) {
    const files = filesOf(file);
    // As they are before they are run: what is saved meanwhile must not be missed.
    const before = stateOf(files);
    await once(file, options, limit, told, shown).catch((error: unknown) => {
      // The next time it is saved it may be right; the first time it is a mistake in what was typed.
      if (shown.size === 0 && !existsSync(file)) throw error;
      note(`error: ${describeError(error)}`);
    });
    note(`Waiting for changes of ${count(files.length, 'file')}; Ctrl-C ends this.`);
    if (!(await untilChanged(files, before, told))) return;
  }
}

/** Runs it and tells; true where a run failed. */
async function once(
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
    to: 'stderr',
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
    writeFileSync(options.cursorFile, `${JSON.stringify(connection.cursor)}\n`);

  const last = runs.at(-1);
  const unused = replay?.unused() ?? [];
  answer(options.json, toJson(connection, runs, unused), () => [
    `${count(connection.signals.length, 'signal')} in ${count(runs.length, 'run')} of ${connector.provider}.`,
    cursorLine(connection.cursor),
    ...(last ? [nextLine(last, systemPorts.now())] : []),
    ...(last?.error?.kind === 'unauthorized' && !credential
      ? ['Give it a credential with --credential-from-env <name> or --credential-file <file>.']
      : []),
    ...(options.record === undefined
      ? []
      : [`Recorded in ${options.record}. Look through it before you commit it.`]),
    ...(unused.length > 0 ? [`Recorded, but not asked for: ${unused.slice(0, 5).join(' · ')}`] : []),
  ]);
  return last?.outcome !== 'succeeded';
}

/** Until nothing follows that the engine would run now. */
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
    const ended = await connection.run({ type: full ? 'full' : 'incremental' });
    runs.push(ended);
    if (!json) tell(ended, runs.length, connection.signals.slice(before), shown);
    const isOver = !ended.next || ended.next.notBefore !== undefined || connection.signals.length >= limit;
    if (isOver || abortSignal.aborted) return runs;
  }
}

/** Where it has run before, only what is new since. */
function tell(ended: MemoryRun, n: number, found: readonly MemorySignal[], shown: Set<string>): void {
  const fresh = found.filter((signal) => !shown.has(JSON.stringify(signal)));
  for (const signal of fresh) shown.add(JSON.stringify(signal));
  const asBefore = found.length - fresh.length;
  answer(false, undefined, () => [
    runLine(n, ended) + (asBefore > 0 ? ` (${asBefore} as before)` : ''),
    ...signalLines(fresh),
  ]);
}

function storedCursor({ cursorFile }: RunOptions): unknown {
  if (cursorFile === undefined || !existsSync(cursorFile)) return undefined;
  try {
    return JSON.parse(readInput('--cursor-file', cursorFile));
  } catch (error) {
    throw invalid(
      `--cursor-file is ${cursorFile}, which is not valid JSON: ${describeError(error)}.`,
      'Correct it, or remove it to start from the beginning.',
    );
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
