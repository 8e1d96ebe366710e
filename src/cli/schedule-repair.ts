import type { Command } from 'commander';
import {
  type AuditNote,
  type RepairedConnection,
  type RepairRequest,
  repairJson,
  type SynclineApi,
} from '../index.ts';
import { systemPorts } from '../platform/ports.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, withAuditNote } from './options.ts';
import { count, note, printResult, table } from './output.ts';

interface RepairOptions extends CommonOptions, AuditNote {
  dryRun?: boolean;
  tenant?: string;
}

export function addScheduleRepair(group: Command): void {
  const command = group
    .command('repair')
    .description('reschedule runs and retries that are further ahead than the schedule allows')
    .option('--dry-run', 'show what would change, without changing it')
    .option('--tenant <id>', 'repair only connections of this tenant');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
A wrong database clock or another program can set next_run_at, scheduled_at or retry_after months ahead; the
connection does not run until then. \`syncline doctor\` reports such times. Times within the limits of interval,
jitter and backoff do not change.
The limits depend on the scheduler and rate limit settings: use the settings of the running processes.

Examples:
  $ syncline schedule repair --dry-run
  $ syncline schedule repair --reason "the database clock was wrong"
  $ syncline schedule repair --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --json`,
    )
    .action(async (options: RepairOptions) => {
      const { tenant, dryRun = false } = options;
      const auditNote = auditNoteOf(options);
      const total = await withEngine(options, (syncline) => {
        const actor = auditNote.actor ?? 'cli';
        const view = tenant === undefined ? syncline : syncline.as({ tenantId: tenant, actor });
        return repairAll(view, { dryRun, ...auditNote });
      });
      const { connections, jobs, skipped } = total;
      const json = {
        dry_run: dryRun,
        connections,
        jobs,
        skipped,
        items: repairJson({ ...total, nextCursor: undefined }).items,
      };
      printResult(options.json, json, () => lines(total, dryRun));
    });
}

interface Total {
  /** With a moved `next_run_at`. */
  connections: number;
  jobs: number;
  skipped: number;
  found: number;
  items: RepairedConnection[];
}

const maxShown = 100;
const stepSize = 100;
const progressIntervalMs = 5000;

async function repairAll({ connections }: SynclineApi, request: RepairRequest): Promise<Total> {
  const total: Total = { connections: 0, jobs: 0, skipped: 0, found: 0, items: [] };
  let notedMs = systemPorts.monotonicMs();
  for (let cursor: string | undefined; ; ) {
    const step = await connections.repairSchedule({ ...request, cursor, limit: stepSize });
    total.connections += step.items.filter(({ nextRunAt }) => nextRunAt).length;
    total.jobs += step.items.reduce((sum, { jobIds }) => sum + jobIds.length, 0);
    total.skipped += step.skipped;
    total.found += step.items.length;
    total.items.push(...step.items.slice(0, maxShown - total.items.length));
    if (step.nextCursor === undefined) return total;
    cursor = step.nextCursor;
    if (systemPorts.monotonicMs() - notedMs < progressIntervalMs) continue;
    notedMs = systemPorts.monotonicMs();
    note(`… ${summary(total)} so far`);
  }
}

const summary = ({ connections, jobs }: Total) =>
  `${count(connections, 'connection')} and ${count(jobs, 'job')}`;

function lines(total: Total, dryRun: boolean): string[] {
  const { items, skipped, found } = total;
  const rows = items.map(({ id, provider, nextRunAt, jobIds }) => [
    id,
    provider,
    nextRunAt ? nextRunAt.from.toISOString() : '',
    nextRunAt ? nextRunAt.to.toISOString() : '',
    jobIds.length > 0 ? String(jobIds.length) : '',
  ]);
  return [
    ...(rows.length > 0
      ? table([['connection', 'provider', 'next run was', 'next run is', 'jobs'], ...rows])
      : []),
    ...(found > items.length ? [`… and ${count(found - items.length, 'more connection')}`] : []),
    found === 0 ? 'Nothing to repair.' : `${dryRun ? 'Would reschedule' : 'Rescheduled'} ${summary(total)}.`,
    ...(skipped > 0
      ? [`Skipped ${count(skipped, 'connection')} locked by other transactions: rerun the command.`]
      : []),
  ];
}
