import type { Command } from 'commander';
import type { DrainResult } from '../index.ts';
import { systemPorts } from '../platform/ports.ts';
import { type CommonOptions, noConnectors, withEngine } from './engine.ts';
import { count, note, printResult } from './output.ts';
import { serve } from './service.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';
import { terminal } from './terminal.ts';
import { relativeTime } from './time-text.ts';

export function addWork(program: Command): void {
  program
    .command('work')
    .description('run due jobs until interrupted (Ctrl-C, SIGTERM) or, with --drain, until none is due')
    .option('--drain', 'run all due jobs and their follow-ups, clean up, print totals and exit')
    .addHelpText(
      'after',
      `
--drain also requeues jobs of dead processes, deletes rows past their retention (for up to 10 s) and prints
when the next job is due. It exits with code 1 on errors that a retry cannot fix (a missing grant, table or
login), and if the database is unreachable at the start (5 attempts, about 4 to 8 s) or later for two minutes.

Examples:
  $ syncline work
  $ syncline work --drain
  $ syncline tick && syncline work --drain --json`,
    )
    .action(async (options: CommonOptions & { drain?: boolean }) =>
      options.drain ? drain(options) : serve(options, ['executor']),
    );
}

async function drain(options: CommonOptions): Promise<void> {
  const shutdown = abortOnShutdownSignal();
  const startedMs = systemPorts.monotonicMs();
  const progress =
    terminal().stderr.isTTY && !options.json ? (await import('./progress.ts')).startProgress() : undefined;
  await withEngine(
    options,
    async (syncline, { connectors }) => {
      if (connectors.length === 0) note(noConnectors);
      const totals = await syncline.drain({ signal: shutdown }).finally(() => progress?.stop());
      const durationMs = Math.round(systemPorts.monotonicMs() - startedMs);
      const lines = () => toLines(totals, durationMs, shutdown.aborted);
      printResult(options.json, toJson(totals, durationMs), lines);
      // A failure must not hide the totals.
      await syncline.prune({ signal: shutdown });
    },
    { providers: progress?.providers ?? {} },
  ).finally(() => progress?.stop());
}

function toJson(totals: DrainResult, durationMs: number) {
  const { claimed, succeeded, requeued, failed, lost, signals, nextDueAt } = totals;
  const next = { next_due_at: nextDueAt?.toISOString() ?? null };
  return { claimed, succeeded, requeued, failed, lost, signals, ...next, duration_ms: durationMs };
}

function toLines(totals: DrainResult, durationMs: number, interrupted: boolean): string[] {
  const { claimed, succeeded, requeued, failed, lost, signals, nextDueAt } = totals;
  const outcomes = [
    `${succeeded} succeeded`,
    ...(requeued > 0 ? [`${requeued} will be retried`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(lost > 0 ? [`${lost} cancelled or requeued`] : []),
  ];
  const nothing = interrupted ? 'Ran no jobs.' : "Ran no jobs: no job of this process's connectors is due.";
  return [
    claimed === 0
      ? nothing
      : `Ran ${count(claimed, 'job')} in ${durationMs} ms: ${outcomes.join(', ')}. ` +
        `Stored ${count(signals, 'new signal')}.`,
    ...(nextDueAt ? [`The next job is due at ${nextDueAt.toISOString()} (${relativeTime(nextDueAt)}).`] : []),
    ...(interrupted ? ['Interrupted: the remaining jobs stay queued.'] : []),
  ];
}
