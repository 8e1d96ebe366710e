import type { Command } from 'commander';
import { signalJson } from '../api/index.ts';
import type { StoredSignal } from '../feed/index.ts';
import { isoTime } from '../values/time-text.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { given, limitOf, withLimit } from './options.ts';
import { answer, note, outputWidth, table } from './output.ts';
import { collect } from './pages.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';
import { relativeTime } from './time-text.ts';

interface FilterOptions extends CommonOptions {
  connection?: string;
  provider?: string;
  kind?: string;
  payload?: boolean;
}

export function addSignals(program: Command): void {
  const group = program.command('signals').description('look at the signals that syncs have stored');

  withLimit(withFilters(group.command('list')))
    .description('list signals, the newest first')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline signals list --kind issue.opened --payload\n  $ syncline signals list --provider github --limit 1000 --json',
    )
    .action(async (options: FilterOptions & { limit: string }) => {
      const limit = limitOf(options);
      const { items: found } = await withEngine(options, ({ signals }) =>
        collect({ limit }, (page) => signals.list({ ...filterOf(options), ...page })),
      );
      answer(options.json, { signals: found.map((signal) => signalJson(signal, { payload: true })) }, () =>
        found.length === 0 ? ['There are no such signals.'] : signalTable(found, options.payload),
      );
    });

  withFilters(group.command('tail'))
    .description('show signals as they come in, until told to end (Ctrl-C, SIGTERM)')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline signals tail --payload\n  $ syncline signals tail --provider github --json | jq .payload',
    )
    .action(async (options: FilterOptions) => {
      const told = abortOnShutdownSignal();
      await withEngine(options, async ({ signals }) => {
        if (!options.json) note('Waiting for signals; Ctrl-C ends this.');
        const feed = signals.feed({ ...filterOf(options), after: 'latest', signal: told });
        for await (const signal of feed)
          answer(options.json, signalJson(signal, { payload: true }), () =>
            tailLine(signal, options.payload),
          );
      });
    });
}

function withFilters(command: Command): Command {
  return command
    .option('--connection <id>', 'only those of this connection')
    .option('--provider <slug>', 'only those of this provider')
    .option('--kind <kind>', 'only those of this kind, such as issue.opened')
    .option('--payload', 'show payloads too, cut to the width of the terminal; JSON always has them');
}

function filterOf({ connection, provider, kind }: FilterOptions) {
  return given({ connectionId: connection, provider, kind });
}

function signalTable(signals: StoredSignal[], payload = false): string[] {
  const head = ['received', 'occurred', 'provider', 'connection', 'kind', ...(payload ? ['payload'] : [])];
  const rows = signals.map((signal) => [
    relativeTime(signal.receivedAt),
    isoTime(signal.occurredAt) ?? '-',
    signal.provider,
    signal.connectionId,
    signal.kind,
    ...(payload ? [JSON.stringify(signal.payload)] : []),
  ]);
  return table([head, ...rows], payload ? { width: outputWidth() } : {});
}

function tailLine(
  { receivedAt, provider, connectionId, kind, payload }: StoredSignal,
  withPayload = false,
): string[] {
  const cells = [isoTime(receivedAt) ?? '-', provider, connectionId, kind];
  return withPayload
    ? table([[...cells, JSON.stringify(payload)]], { width: outputWidth() })
    : table([cells]);
}
