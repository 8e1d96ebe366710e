import type { Command } from 'commander';
import { addLoad, removeLoad } from '../dev/index.ts';
import { systemPorts } from '../platform/ports.ts';
import { minIntervalSeconds } from '../schedule/interval.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { wholeNumber } from './options.ts';
import { answer, count, note } from './output.ts';

/** More would be a benchmark, for which there is one. */
const maxConnections = 100_000;

interface LoadCommandOptions extends CommonOptions {
  connections: string;
  interval: string;
}

export function addDemo(program: Command): void {
  const group = program
    .command('demo')
    .description('put the demo that `syncline dev` runs in this folder under load');

  group
    .command('load')
    .description('add connections to the demo')
    .option('--connections <n>', `how many, 1 to ${maxConnections}`, '2000')
    .option('--interval <seconds>', 'how often each of them syncs', '60')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline demo load\n  $ syncline demo load --connections 5000 --interval 120',
    )
    .action(async (options: LoadCommandOptions) => {
      const connections = wholeNumber('--connections', options.connections, 1, maxConnections);
      const intervalSeconds = await withEngine(options, async (syncline) => {
        const { maxOverriddenIntervalSeconds } = syncline.config.scheduler;
        const interval = wholeNumber(
          '--interval',
          options.interval,
          minIntervalSeconds,
          maxOverriddenIntervalSeconds,
        );
        await addLoad(syncline, {
          connections,
          intervalSeconds: interval,
          nowMs: systemPorts.now(),
          onProgress: (done) => tell(options, `… ${done} of ${count(connections, 'connection')} added`),
        });
        return interval;
      });
      answer(options.json, { added: connections, interval_seconds: intervalSeconds }, () => [
        `Added ${count(connections, 'connection')}, each synced every ${intervalSeconds} s: about ${perSecond(connections / intervalSeconds)} runs a second.`,
        'To remove them again: npx syncline demo unload',
      ]);
    });

  group
    .command('unload')
    .description('remove the connections that `demo load` added, with their jobs and signals')
    .addHelpText('after', '\nExample:\n  $ syncline demo unload')
    .action(async (options: CommonOptions) => {
      const removed = await withEngine(options, (syncline) =>
        removeLoad(syncline, (done) => tell(options, `… ${count(done, 'connection')} removed`)),
      );
      answer(options.json, { removed }, () => [
        removed === 0
          ? 'There is nothing to remove.'
          : `Removed ${count(removed, 'connection')}, with their jobs and signals.`,
      ]);
    });
}

function tell({ json }: CommonOptions, text: string): void {
  if (!json) note(text);
}

const perSecond = (runs: number) => (runs < 10 ? runs.toFixed(1) : String(Math.round(runs)));
