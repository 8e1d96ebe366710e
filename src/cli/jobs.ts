import type { Command } from 'commander';
import type { Job } from '../api/index.ts';
import { jobDetailJson, jobJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import type { JobType } from '../contract/connector.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { jobLines, jobTable, runLines } from './job-lines.ts';
import { doerOf, given, limitOf, withDoer, withLimit } from './options.ts';
import { answer } from './output.ts';
import { collect } from './pages.ts';

interface ListOptions extends CommonOptions {
  connection?: string;
  status?: Job['status'];
  provider?: string;
  type?: JobType;
  limit: string;
}

export function addJobs(program: Command): void {
  const group = program.command('jobs').description('look at jobs, cancel them, run them again');
  addList(group);
  group
    .command('show')
    .description('show everything about a job')
    .argument('<id>', 'the id of the job')
    .addHelpText('after', '\nExample:\n  $ syncline jobs show 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const job = await withEngine(options, ({ jobs }) => jobs.get(id));
      answer(options.json, jobDetailJson(job), () => [job.verdict, '', ...jobLines(job), ...runLines(job)]);
    });
  addChange(
    group,
    'cancel',
    'end a job that is queued or running; nothing of it is stored any more',
    () => 'is cancelled.',
  );
  addChange(
    group,
    'retry',
    'run a job again: at once if it backs off, as a new job if it has ended',
    (job, id) =>
      job.id === id ? 'is due now.' : `has ended; its work is done again by the new job ${job.id}.`,
  );
}

function addList(group: Command): void {
  const list = group
    .command('list')
    .description(
      'list jobs, the newest first; of one connection those that are pending, then those that ended',
    )
    .option('--connection <id>', 'only those of this connection')
    .option('--status <status>', 'only those that are queued, running, succeeded, failed or cancelled')
    .option('--provider <slug>', 'only those of this provider')
    .option('--type <type>', 'only those that are incremental, full or webhook');
  withLimit(list)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline jobs list --status failed\n  $ syncline jobs list --connection 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --json',
    )
    .action(async (options: ListOptions) => {
      const { connection, status, provider, type } = options;
      const filter = given({ connectionId: connection, status, provider, type });
      const limit = limitOf(options);
      const { items: found } = await withEngine(options, ({ jobs }) =>
        collect({ limit }, (page) => jobs.list({ ...filter, ...page })),
      );
      answer(options.json, { jobs: found.map(jobJson) }, () =>
        found.length === 0 ? ['There are no such jobs.'] : jobTable(found),
      );
    });
}

function addChange(
  group: Command,
  action: 'cancel' | 'retry',
  description: string,
  outcome: (job: Job, id: string) => string,
): void {
  withDoer(group.command(action).description(description).argument('<id>', 'the id of the job'))
    .addHelpText(
      'after',
      `\nExample:\n  $ syncline jobs ${action} 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "asked for by support"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      const job = await withEngine(options, ({ jobs }) => jobs[action](id, doerOf(options)));
      answer(options.json, jobJson(job), () => [`Job ${id} ${outcome(job, id)}`]);
    });
}
