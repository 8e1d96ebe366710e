import type { Command } from 'commander';
import { addLoad, deleteLoad } from '../dev/index.ts';
import { minIntervalSeconds } from '../index.ts';
import { systemPorts } from '../platform/ports.ts';
import { addDemoBreak } from './demo-break.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { wholeNumber } from './options.ts';
import { count, note, printResult } from './output.ts';

const maxConnections = 100_000;

interface LoadCommandOptions extends CommonOptions {
  connections: string;
  interval: string;
}

export function addDemo(program: Command): void {
  const group = program
    .command('demo')
    .description('control the demo of `syncline dev` in this directory: break providers, add load');
  addDemoBreak(group);

  group
    .command('load')
    .description('add connections to the demo')
    .option('--connections <n>', `number of connections, 1 to ${maxConnections}`, '2000')
    .option('--interval <seconds>', 'sync interval of each connection', '60')
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
          onProgress: (done) =>
            noteProgress(options, `… ${done} of ${count(connections, 'connection')} added`),
        });
        return interval;
      });
      printResult(options.json, { added: connections, interval_seconds: intervalSeconds }, () => [
        `Added ${count(connections, 'connection')} with an interval of ${intervalSeconds} s: ` +
          `about ${perSecond(connections / intervalSeconds)} runs per second.`,
        'To delete them: npx syncline demo unload',
      ]);
    });

  group
    .command('unload')
    .description('delete the connections added by `demo load`, with their jobs and signals')
    .addHelpText('after', '\nExample:\n  $ syncline demo unload')
    .action(async (options: CommonOptions) => {
      const deleted = await withEngine(options, (syncline) =>
        deleteLoad(syncline, (done) => noteProgress(options, `… ${count(done, 'connection')} deleted`)),
      );
      printResult(options.json, { deleted }, () => [
        deleted === 0
          ? 'Nothing to delete.'
          : `Deleted ${count(deleted, 'connection')}, with their jobs and signals.`,
      ]);
    });
}

function noteProgress({ json }: CommonOptions, text: string): void {
  if (!json) note(text);
}

const perSecond = (runs: number) => (runs < 10 ? runs.toFixed(1) : String(Math.round(runs)));
