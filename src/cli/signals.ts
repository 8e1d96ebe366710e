import type { Command } from 'commander';
import { type StoredSignal, signalJson } from '../index.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { isoTime } from '../values/time-text.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { limitOf, withLimit } from './options.ts';
import { note, outputWidth, resultText, table, write } from './output.ts';
import { printList } from './pages.ts';
import { abortOnShutdownSignal } from './shutdown-signal.ts';
import { relativeTime } from './time-text.ts';

interface FilterOptions extends CommonOptions {
  connection?: string;
  provider?: string;
  kind?: string;
  payload?: boolean;
}

export function addSignals(program: Command): void {
  const group = program.command('signals').description('list and follow stored signals');

  withLimit(withFilters(group.command('list')))
    .description('list signals, newest first')
    .addHelpText(
      'after',
      `
Examples:
  $ syncline signals list --kind issue.opened --payload
  $ syncline signals list --provider github --limit 1000 --json`,
    )
    .action(async (options: FilterOptions & { limit: string }) => {
      const limit = limitOf(options);
      const { json, payload = false } = options;
      await withEngine(options, ({ signals }) =>
        printList({ json, limit }, (page) => signals.list({ ...filterOf(options), ...page }), {
          name: 'signals',
          jsonOf: signalJson,
          head: [
            ...['received', 'occurred', 'provider', 'connection', 'kind'],
            ...(payload ? ['payload'] : []),
          ],
          cellsOf: (signal) => cellsOf(signal, payload),
          ...(payload && { width: outputWidth() }),
          empty: 'No signals found.',
        }),
      );
    });

  withFilters(group.command('tail'))
    .description('print new signals until interrupted (Ctrl-C, SIGTERM)')
    .addHelpText(
      'after',
      `
Examples:
  $ syncline signals tail --payload
  $ syncline signals tail --provider github --json | jq .payload`,
    )
    .action(async (options: FilterOptions) => {
      const shutdown = abortOnShutdownSignal();
      await withEngine(options, async ({ signals }) => {
        if (!options.json) note('Waiting for signals. Press Ctrl-C to stop.');
        const feed = signals.feed({ ...filterOf(options), after: 'latest', signal: shutdown });
        for await (const signal of feed)
          await write(
            resultText(options.json, signalJson(signal), () => tailLine(signal, options.payload)),
            shutdown,
          );
      });
    });
}

function withFilters(command: Command): Command {
  return command
    .option('--connection <id>', 'filter by connection')
    .option('--provider <slug>', 'filter by provider')
    .option('--kind <kind>', 'filter by kind, such as issue.opened')
    .option('--payload', 'include payloads, truncated to the terminal width; --json always includes them');
}

function filterOf({ connection, provider, kind }: FilterOptions) {
  return omitUndefined({ connectionId: connection, provider, kind });
}

function cellsOf(signal: StoredSignal, withPayload: boolean): string[] {
  return [
    relativeTime(signal.receivedAt),
    isoTime(signal.occurredAt) ?? '-',
    signal.provider,
    signal.connectionId,
    signal.kind,
    ...(withPayload ? [JSON.stringify(signal.payload)] : []),
  ];
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
