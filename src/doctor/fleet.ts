import { otherProvidersWaiting } from '../store/claims.ts';
import { findForeignRuns, findOrphans, maxWaits } from '../store/health/work.ts';
import { findProcesses } from '../store/processes.ts';
import { lastTickAt } from '../store/schedulers.ts';
import { overdueConnections } from '../store/stats.ts';
import { formatDuration } from '../values/duration.ts';
import { type Check, type Circumstances, error, howMany, named, warning } from './check.ts';
import { processClocks } from './clocks.ts';

const before = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** One that was restarted misses a tick or two. */
const ticksMissed = 3;
const patienceSeconds = ({ config }: Circumstances) => ticksMissed * config.scheduler.tickIntervalSeconds;

const scheduler: Check = {
  name: 'scheduler',
  group: 'fleet',
  look: async (circumstances) => {
    const { tx, now } = circumstances;
    const at = await lastTickAt(tx);
    const remedy = 'Start one: `syncline start --roles scheduler`.';
    if (!at)
      return { findings: [error('No scheduler has ticked in the last hour: nothing is placed.', remedy)] };
    const ago = formatDuration(now.getTime() - at.getTime());
    const isSilent = at < before(now, patienceSeconds(circumstances));
    return {
      detail: `ticked ${ago} ago`,
      findings: isSilent
        ? [error(`The last tick of a scheduler was ${ago} ago: nothing is placed.`, remedy)]
        : [],
    };
  },
};

const overdue: Check = {
  name: 'overdue connections',
  group: 'fleet',
  look: async (circumstances) => {
    const { tx, now } = circumstances;
    const { count, atLeast, since } = await overdueConnections(
      tx,
      before(now, patienceSeconds(circumstances)),
    );
    if (count === 0) return { findings: [] };
    const oldest = since ? `, the first since ${formatDuration(now.getTime() - since.getTime())}` : '';
    const many = `${atLeast ? 'More than ' : ''}${count} active connections are due and have no job${oldest}: no scheduler keeps up with them, or somebody holds their rows.`;
    return {
      findings: [error(many, 'Is a scheduler running? Look at "old transactions", and run `syncline tick`.')],
    };
  },
};

const executors: Check = {
  name: 'executors',
  group: 'fleet',
  look: async ({ tx, now }) => {
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0);
    return {
      detail: `${howMany(alive.length, 'process', 'processes')}, ${howMany(slots, 'slot', 'slots', Number.POSITIVE_INFINITY)}`,
      findings:
        alive.length === 0
          ? [error('No executor has a lease: nothing runs.', 'Start one: `syncline start --roles executor`.')]
          : [],
    };
  },
};

/** A job may rightly wait for a moment until a process is free. */
const longWaitSeconds = 600;

const unserved: Check = {
  name: 'providers without an executor',
  group: 'fleet',
  look: async ({ tx, now }) => {
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    const served = [...new Set(alive.flatMap(({ providers }) => providers))];
    const waiting = await otherProvidersWaiting(tx, served, before(now, 60));
    return {
      findings: waiting.map((slug) =>
        error(
          `Jobs of "${slug}" are due, and no running executor has a connector for it.`,
          `Add its connector to syncline.config.ts of an executor, or pause what nobody serves: \`syncline connections list --provider ${slug}\`.`,
        ),
      ),
    };
  },
};

const behind: Check = {
  name: 'executors keep up',
  group: 'fleet',
  look: async ({ tx, now }) => {
    const alive = (await findProcesses(tx, now)).filter((process) => process.alive);
    const served = [...new Set(alive.flatMap(({ providers }) => providers))];
    const waits = await maxWaits(tx, served, before(now, longWaitSeconds));
    return {
      findings: waits.map(({ slug, since }) =>
        warning(
          `A job of "${slug}" has been due for ${formatDuration(now.getTime() - since.getTime())}, and an executor for it is running: there are too few slots, or they are kept by slow runs.`,
          'Raise SYNCLINE_EXECUTOR_CONCURRENCY or start more executors; `syncline jobs list --status running` shows what keeps them.',
        ),
      ),
    };
  },
};

/** EXE-9: within the lease and a sweep; a process whose row was deleted is noticed within a minute. */
const sweepSeconds = 65;

const orphans: Check = {
  name: 'jobs of dead processes',
  group: 'fleet',
  look: async ({ tx, now, config }) => {
    const lost = await findOrphans(tx, before(now, config.executor.leaseSeconds + sweepSeconds));
    if (lost.length === 0) return { findings: [] };
    const message = `${howMany(lost.length, 'job is', 'jobs are')} marked as running by processes that are gone, and nobody has put them back: ${named(lost.map(({ id }) => id))}.`;
    return {
      findings: [
        error(
          message,
          'Any running executor puts them back: `syncline start --roles executor`, or `syncline jobs cancel <id>`.',
        ),
      ],
    };
  },
};

/** No lease ends a job of another writer. A run that takes longer than this is taken for abandoned. */
const foreignRunSeconds = 24 * 3600;

const foreignRuns: Check = {
  name: 'jobs of other writers',
  group: 'fleet',
  look: async ({ tx, now }) => {
    const abandoned = await findForeignRuns(tx, before(now, foreignRunSeconds));
    const [first] = abandoned;
    if (!first) return { findings: [] };
    const ids = abandoned.map(({ id }) => id);
    return {
      findings: [
        warning(
          `${howMany(ids.length, 'job is', 'jobs are')} marked as running by a worker that Syncline does not manage, unchanged for up to ${formatDuration(now.getTime() - first.since.getTime())}: ${named(ids)}. No other job of these connections runs until they end.`,
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
