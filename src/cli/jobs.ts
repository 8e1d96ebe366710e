import type { Command } from 'commander';
import { type JobType, jobStatuses, jobTypes } from '../contract/states.ts';
import { type AuditNote, type Job, jobDetailJson, jobJson } from '../index.ts';
import { requireOneOf } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { jobCells, jobHead, jobLines, runLines } from './job-lines.ts';
import { auditNoteOf, limitOf, withAuditNote, withLimit } from './options.ts';
import { outputWidth, printResult } from './output.ts';
import { printList } from './pages.ts';

interface ListOptions extends CommonOptions {
  connection?: string;
  status?: Job['status'];
  provider?: string;
  type?: JobType;
  limit: string;
}

export function addJobs(program: Command): void {
  const group = program.command('jobs').description('list, show, cancel and retry jobs');
  addList(group);
  group
    .command('show')
    .description('show a job, its runs and their logs')
    .argument('<id>', 'job ID')
    .addHelpText('after', '\nExample:\n  $ syncline jobs show 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42')
    .action(async (id: string, options: CommonOptions) => {
      const job = await withEngine(options, ({ jobs }) => jobs.get(id));
      printResult(options.json, jobDetailJson(job), () => [
        job.verdict,
        '',
        ...jobLines(job),
        ...runLines(job),
      ]);
    });
  addChange(
    group,
    'cancel',
    'cancel a queued or running job; the results of a running one are discarded',
    () => 'is cancelled.',
  );
  addChange(
    group,
    'retry',
    'retry a job: immediately if it is waiting for a retry, as a new job if it has ended',
    (job, id) => (job.id === id ? 'is due now.' : `has ended; queued new job ${job.id}.`),
  );
}

function addList(group: Command): void {
  const list = group
    .command('list')
    .description(
      'list jobs, newest first; with --connection, ordered by end time (jobs that have not ended: by last update)',
    )
    .option('--connection <id>', 'filter by connection')
    .option('--status <status>', 'filter by status: queued, running, succeeded, failed or cancelled')
    .option('--provider <slug>', 'filter by provider')
    .option('--type <type>', 'filter by type: incremental, full or webhook');
  withLimit(list)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline jobs list --status failed
  $ syncline jobs list --connection 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --json`,
    )
    .action(async (options: ListOptions) => {
      const { connection, status, provider, type } = options;
      if (status !== undefined) requireOneOf('--status', status, jobStatuses);
      if (type !== undefined) requireOneOf('--type', type, jobTypes);
      const filter = omitUndefined({ connectionId: connection, status, provider, type });
      const limit = limitOf(options);
      await withEngine(options, ({ jobs }) =>
        printList({ json: options.json, limit }, (page) => jobs.list({ ...filter, ...page }), {
          name: 'jobs',
          jsonOf: jobJson,
          head: jobHead,
          cellsOf: jobCells,
          width: outputWidth(),
          empty: 'No jobs found.',
        }),
      );
    });
}

function addChange(
  group: Command,
  action: 'cancel' | 'retry',
  description: string,
  outcome: (job: Job, id: string) => string,
): void {
  withAuditNote(group.command(action).description(description).argument('<id>', 'job ID'))
    .addHelpText(
      'after',
      `
Example:
  $ syncline jobs ${action} 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "requested by support"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      const job = await withEngine(options, ({ jobs }) => jobs[action](id, auditNoteOf(options)));
      printResult(options.json, jobJson(job), () => [`Job ${id} ${outcome(job, id)}`]);
    });
}
