import type { Command } from 'commander';
import {
  type ConnectionEvent,
  connectionEventJson,
  connectionJson,
  explanationJson,
  jobJson,
} from '../index.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { jobTableOfConnection } from './job-lines.ts';
import { outputWidth, printResult, table } from './output.ts';
import { relativeTime } from './time-text.ts';

const recentCount = 10;

export function addConnectionsShow(group: Command): void {
  group
    .command('show')
    .description('show a connection: sync state, settings, recent jobs and events')
    .argument('<id>', 'connection ID')
    .addHelpText('after', '\nExample:\n  $ syncline connections show 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const { connection, why, jobs, events } = await withEngine(options, async ({ connections, jobs }) => ({
        connection: await connections.get(id),
        why: await connections.explain(id),
        jobs: (await jobs.list({ connectionId: id, limit: recentCount })).items,
        events: await connections.events(id, { limit: recentCount }),
      }));
      const json = {
        connection: connectionJson(connection),
        why: explanationJson(why),
        jobs: jobs.map(jobJson),
        events: events.map(connectionEventJson),
      };
      printResult(options.json, json, () => [
        why.sentence,
        '',
        ...connectionLines(connection),
        ...(jobs.length > 0 ? ['', 'Recent jobs:', ...jobTableOfConnection(jobs)] : []),
        ...(events.length > 0 ? ['', 'Recent events:', ...eventTable(events)] : []),
      ]);
    });

  group
    .command('why')
    .description('explain why a connection is or is not syncing')
    .argument('<id>', 'connection ID')
    .addHelpText('after', '\nExample:\n  $ syncline connections why 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const why = await withEngine(options, ({ connections }) => connections.explain(id));
      printResult(options.json, explanationJson(why), () => [why.sentence]);
    });
}

function eventTable(events: ConnectionEvent[]): string[] {
  const rows = events.map(({ at, kind, actor, jobId, reason }) => [
    relativeTime(at),
    kind,
    actor,
    jobId ?? '-',
    reason ?? '-',
  ]);
  return table([['time', 'kind', 'actor', 'job', 'reason'], ...rows], { width: outputWidth() });
}
