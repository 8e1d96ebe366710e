import { otherProvidersWaiting } from '../store/claims.ts';
import { findForeignRuns, findOrphans, maxWaits } from '../store/health/work.ts';
import { findProcesses } from '../store/processes.ts';
import { findSchedulers, tickStateOf } from '../store/schedulers.ts';
import { overdueConnections } from '../store/stats.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, type CheckContext, error, formatCount, formatList, warning } from './check.ts';
import { processClocks } from './clocks.ts';

const before = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** Between two cron runs, whose interval is unknown. */
const maxCronSilenceSeconds = 3600;

const tickState = async ({ tx, now, config }: CheckContext) =>
  tickStateOf(await findSchedulers(tx), now, config.scheduler.tickIntervalSeconds);

const isFromCron = async (context: CheckContext) => (await tickState(context)).source === 'cron';

const scheduler: Check = {
  name: 'scheduler',
  group: 'fleet',
  run: async (context) => {
    const { now } = context;
    const { lastAt, source, maxAgeSeconds } = await tickState(context);
    const remedy =
      'Start one: `syncline start --roles scheduler`, or check the cron job that runs `syncline tick`.';
    if (!lastAt)
      return { findings: [error('No scheduler has run in the last hour: no jobs are queued.', remedy)] };
    const ago = formatDuration(now.getTime() - lastAt.getTime());
    if (lastAt < before(now, maxAgeSeconds))
      return { findings: [error(`The last scheduler tick was ${ago} ago: no jobs are queued.`, remedy)] };
    if (source === 'command')
      return {
        findings: [
          warning(
            `The last tick was run by hand ${ago} ago, and no scheduler process is running.`,
            'Start one: `syncline start --roles scheduler`. If `syncline tick` runs from cron, this ends after ' +
              'a few runs.',
          ),
        ],
      };
    return {
      detail: source === 'cron' ? `cron style: last tick ${ago} ago` : `ticked ${ago} ago`,
      findings: [],
    };
  },
};

const overdue: Check = {
  name: 'overdue connections',
  group: 'fleet',
  run: async (context) => {
    const { tx, now } = context;
    const { maxAgeSeconds } = await tickState(context);
    const { count, atLeast, since } = await overdueConnections(tx, before(now, maxAgeSeconds));
    if (count === 0) return { findings: [] };
    const oldest = since ? `, the oldest for ${formatDuration(now.getTime() - since.getTime())}` : '';
    const many =
      `${atLeast ? 'More than ' : ''}${count} active ` +
      `${count === 1 ? 'connection is' : 'connections are'} due without a ` +
      `job${oldest}: no scheduler is running, it cannot keep up, or another transaction holds their rows.`;
    return {
      findings: [
        error(many, 'Check that a scheduler is running, see "old transactions", and run `syncline tick`.'),
      ],
    };
  },
};

const executors: Check = {
  name: 'executors',
  group: 'fleet',
  run: async (context) => {
    const { tx, now } = context;
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    if (alive.length === 0 && (await isFromCron(context)))
      return { detail: 'cron style: none between runs', findings: [] };
    const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0);
    return {
      detail:
        `${formatCount(alive.length, 'process', 'processes')}, ` +
        `${formatCount(slots, 'slot', 'slots', Number.POSITIVE_INFINITY)}`,
      findings:
        alive.length === 0
          ? [
              error(
                'No executor has a lease: no jobs run.',
                'Start one: `syncline start --roles executor`, or run `syncline work --drain` from cron.',
              ),
            ]
          : [],
    };
  },
};

/** Due jobs may wait for a free slot. */
const maxWaitSeconds = 600;

const unserved: Check = {
  name: 'providers without an executor',
  group: 'fleet',
  run: async (context) => {
    const { tx, now } = context;
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    const served = [...new Set(alive.flatMap(({ providers }) => providers))];
    const isCron = await isFromCron(context);
    const waiting = await otherProvidersWaiting(tx, served, before(now, isCron ? maxCronSilenceSeconds : 60));
    return {
      findings: waiting.map((slug) =>
        error(
          `Jobs of "${slug}" are due, and no running executor has a connector for it.`,
          'Add its connector to syncline.config.ts of an executor, or pause its connections: `syncline ' +
            `connections list --provider ${slug}\`.`,
        ),
      ),
    };
  },
};

const behind: Check = {
  name: 'executor capacity',
  group: 'fleet',
  run: async ({ tx, now }) => {
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    const served = [...new Set(alive.flatMap(({ providers }) => providers))];
    const waits = await maxWaits(tx, served, before(now, maxWaitSeconds));
    return {
      findings: waits.map(({ slug, since }) =>
        warning(
          `A job of "${slug}" has been due for ${formatDuration(now.getTime() - since.getTime())}, ` +
            'although an executor for it is running: there are too few slots, or slow runs hold them.',
          'Raise SYNCLINE_EXECUTOR_CONCURRENCY or start more executors; `syncline jobs list --status ' +
            'running` shows the current runs.',
        ),
      ),
    };
  },
};

/** EXE-9: one sweep, or a minute if the process's row is deleted. */
const sweepSeconds = 65;

const orphans: Check = {
  name: 'jobs of dead processes',
  group: 'fleet',
  run: async (context) => {
    const { tx, now, config } = context;
    const graceSeconds = (await isFromCron(context)) ? maxCronSilenceSeconds : sweepSeconds;
    const lost = await findOrphans(tx, before(now, config.executor.leaseSeconds + graceSeconds));
    if (lost.length === 0) return { findings: [] };
    const message =
      `${formatCount(lost.length, 'job is', 'jobs are')} marked as running by dead ` +
      `processes and not requeued: ${formatList(lost.map(({ id }) => id))}.`;
    return {
      findings: [
        error(
          message,
          'Any running executor requeues them: `syncline start --roles executor`, or `syncline jobs ' +
            'cancel <id>`.',
        ),
      ],
    };
  },
};

/** Jobs of other writers have no lease. */
const foreignRunSeconds = 24 * 3600;

const foreignRuns: Check = {
  name: 'jobs of external workers',
  group: 'fleet',
  run: async ({ tx, now }) => {
    const abandoned = await findForeignRuns(tx, before(now, foreignRunSeconds));
    const [first] = abandoned;
    if (!first) return { findings: [] };
    const ids = abandoned.map(({ id }) => id);
    return {
      findings: [
        warning(
          `${formatCount(ids.length, 'job is', 'jobs are')} marked as running by a worker that Syncline ` +
            'does not manage, for up to ' +
            `${formatDuration(now.getTime() - first.since.getTime())}: ${formatList(ids)}. No other job of ` +
            'these connections runs until these jobs end.',
          `If that worker is gone: syncline jobs cancel ${first.id}`,
        ),
      ],
    };
  },
};

export const fleetChecks: Check[] = [
  scheduler,
  overdue,
  executors,
  unserved,
  behind,
  orphans,
  foreignRuns,
  processClocks,
];
