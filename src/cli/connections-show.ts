import type { Command } from 'commander';
import type { ConnectionEvent } from '../api/index.ts';
import { connectionJson, eventJson, explanationJson, jobJson } from '../api/index.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { jobTable } from './job-lines.ts';
import { answer, outputWidth, table } from './output.ts';
import { relativeTime } from './time-text.ts';

/** As many of its latest jobs and events as fit on a screen. */
const latest = 10;

export function addConnectionsShow(group: Command): void {
  group
    .command('show')
    .description(
      'show everything about a connection: why it is or is not syncing, its latest jobs and events',
    )
    .argument('<id>', 'the id of the connection')
    .addHelpText('after', '\nExample:\n  $ syncline connections show 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const { connection, why, jobs, events } = await withEngine(options, async ({ connections, jobs }) => ({
        connection: await connections.get(id),
        why: await connections.explain(id),
        jobs: (await jobs.list({ connectionId: id, limit: latest })).items,
        events: await connections.events(id, { limit: latest }),
      }));
      const json = {
        connection: connectionJson(connection),
        why: explanationJson(why),
        jobs: jobs.map(jobJson),
        events: events.map(eventJson),
      };
      answer(options.json, json, () => [
        why.sentence,
        '',
        ...connectionLines(connection),
        ...(jobs.length > 0 ? ['', 'Latest jobs:', ...jobTable(jobs, { ofOneConnection: true })] : []),
        ...(events.length > 0 ? ['', 'Latest events:', ...eventTable(events)] : []),
      ]);
    });

  group
    .command('why')
    .description('say in one sentence why a connection is or is not syncing right now')
    .argument('<id>', 'the id of the connection')
    .addHelpText('after', '\nExample:\n  $ syncline connections why 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const why = await withEngine(options, ({ connections }) => connections.explain(id));
      answer(options.json, explanationJson(why), () => [why.sentence]);
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
  return table([['when', 'what', 'by', 'job', 'reason'], ...rows], { width: outputWidth() });
}
