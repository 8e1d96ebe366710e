import type { Command } from 'commander';
import { systemPorts } from '../platform/ports.ts';
import type { WorkTotals } from '../runtime/index.ts';
import { type CommonOptions, noConnectors, withEngine } from './engine.ts';
import { answer, count, note } from './output.ts';
import { serve } from './service.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';

export function addWork(program: Command): void {
  program
    .command('work')
    .description('run due jobs until told to end (Ctrl-C, SIGTERM), or with --drain until nothing is due')
    .option('--drain', 'run what is due, and what follows from it, then print the totals and exit')
    .addHelpText(
      'after',
      '\nA drain exits with 1 where no retry helps (a missing grant, table or login), and after two minutes without the database.\n\nExamples:\n  $ syncline work\n  $ syncline work --drain\n  $ syncline tick && syncline work --drain --json',
    )
    .action(async (options: CommonOptions & { drain?: boolean }) =>
      options.drain ? drain(options) : serve(options, ['executor']),
    );
}

async function drain(options: CommonOptions): Promise<void> {
  const told = abortOnShutdownSignal();
  const startedMs = systemPorts.monotonicMs();
  const progress =
    process.stderr.isTTY && !options.json ? (await import('./progress.ts')).startProgress() : undefined;
  const totals = await withEngine(
    options,
    (syncline, { connectors }) => {
      if (connectors.length === 0) note(noConnectors);
      return syncline.drain({ signal: told });
    },
    { providers: progress?.providers ?? {} },
  ).finally(() => progress?.stop());
  const durationMs = Math.round(systemPorts.monotonicMs() - startedMs);
  answer(options.json, toJson(totals, durationMs), () => toLines(totals, durationMs, told.aborted));
}

function toJson({ claimed, succeeded, requeued, failed, lost, signals }: WorkTotals, durationMs: number) {
  return { claimed, succeeded, requeued, failed, lost, signals, duration_ms: durationMs };
}

function toLines(totals: WorkTotals, durationMs: number, told: boolean): string[] {
  const { claimed, succeeded, requeued, failed, lost, signals } = totals;
  const ends = [
    `${succeeded} succeeded`,
    ...(requeued > 0 ? [`${requeued} will be tried again`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(lost > 0 ? [`${lost} taken away or put back`] : []),
  ];
  const nothing = told
    ? 'Nothing was run.'
    : 'Nothing was run: no job is due that this process has a connector for.';
  return [
    claimed === 0
      ? nothing
      : `Ran ${count(claimed, 'job')} in ${durationMs} ms: ${ends.join(', ')}. Stored ${count(signals, 'new signal')}.`,
    ...(told ? ['Told to end before everything was done; what is left stays queued.'] : []),
  ];
}
