import type { Caller } from '../caller/caller.ts';
import { aheadLimitsOf } from '../config/ahead-limits.ts';
import type { Config } from '../config/settings.ts';
import { baseInterval } from '../schedule/interval.ts';
import { type Ahead, connectionsAhead, jobsAhead, tenantAhead } from '../store/ahead.ts';
import { otherProvidersWaiting } from '../store/claims.ts';
import type { Database, Transaction } from '../store/database.ts';
import { findProcesses } from '../store/processes.ts';
import { ageEdgesSeconds, lagEdgesMs, percentile } from '../store/rollup-buckets.ts';
import { type Counts, sumRollups } from '../store/rollups.ts';
import { findSchedulers, tickStateOf } from '../store/schedulers.ts';
import {
  countConnections,
  countQueue,
  dueGroups,
  failingGroups,
  lastErrors,
  maxCounted,
  overdueConnections,
  refusedGroups,
  type TroubleRow,
} from '../store/stats.ts';
import { requireText, requireWhole } from '../values/arguments.ts';
import type { AttentionItem, Load, Overview, Series, SeriesPoint, Totals } from './stats-model.ts';

const minuteMs = 60_000;
const minMinutes = 5;
const maxMinutes = 7 * 24 * 60;
/** At least a pixel per point. */
const maxPoints = 120;
/** Rollups older than a day are hourly. */
const finestMinutes = 24 * 60;
/** Divide an hour or a day: charts of different ranges align. */
const stepMinutes = [1, 5, 15, 60, 120];
const loadMinutes = 60;
/** Then no executor serves the provider. */
const unservedAfterMs = 60_000;

const remedies: Record<string, string> = {
  unauthorized:
    'The provider rejects the credentials. Ask the customer to connect again, or replace the credential.',
  no_credential:
    'Waiting for authorization: no credential has been provided yet. Ask the customer for consent, or ' +
    'attach a credential.',
  permanent: 'Retrying will not help: see the error, fix the cause, then trigger a sync.',
  cursor_expired:
    'A full sync follows automatically; if this repeats, the interval is too long for this provider.',
  transient: 'Retried automatically with backoff. See the error if it persists.',
};

/** Numbers for dashboards and alerts. */
export interface StatsApi {
  /** Connections, queue and the last hour. Only operators see queue and executors. */
  overview(): Promise<Overview>;

  /** Ended jobs, lag and freshness per step over the last `minutes`: 5 to 10,080, default 60. */
  series(request?: { minutes?: number | undefined; provider?: string | undefined }): Promise<Series>;

  /** Expected runs in each of the next 60 minutes. */
  load(): Promise<Load>;

  /** Problems by cause, most urgent first. */
  attention(): Promise<AttentionItem[]>;
}

export function createStats({
  db,
  caller,
  config: { scheduler: config, rateLimit },
}: {
  db: Database;
  caller: Caller;
  config: Pick<Config, 'scheduler' | 'rateLimit'>;
}): StatsApi {
  const isOperator = caller.tenantId === undefined;
  const limits = aheadLimitsOf({ scheduler: config, rateLimit });
  const defaultJitter = (config.jitterPctMin + config.jitterPctMax) / 2;

  return {
    async overview() {
      return db.transaction(async (tx) => {
        const { now } = tx;
        const alive = isOperator
          ? (await findProcesses(tx, now)).filter((process) => process.alive)
          : undefined;
        const from = new Date(now.getTime() - 60 * minuteMs);
        const tick = tickStateOf(await findSchedulers(tx), now, config.tickIntervalSeconds);
        const [hour] = await sumRollups(tx, { from, to: nextMinute(now), stepSeconds: 3720 });
        return {
          now,
          connections: await countConnections(tx),
          queue: isOperator ? await countQueue(tx, now) : undefined,
          lastTickAt: tick.lastAt,
          maxTickAgeSeconds: tick.maxAgeSeconds,
          executors: alive && {
            alive: alive.length,
            slots: alive.reduce((sum, { concurrency }) => sum + concurrency, 0),
          },
          lastHour: totals(hour),
        };
      });
    },

    async series({ minutes = 60, provider } = {}) {
      requireWhole('minutes', minutes, minMinutes, maxMinutes);
      if (provider !== undefined) requireText('provider', provider, 200);
      const fits = (size: number) => minutes / size <= maxPoints && (size >= 60 || minutes <= finestMinutes);
      const step = stepMinutes.find(fits) ?? (stepMinutes.at(-1) as number);
      const stepMs = step * minuteMs;
      const to = new Date((Math.floor((await db.now()).getTime() / stepMs) + 1) * stepMs);
      const from = new Date(to.getTime() - Math.ceil(minutes / step) * stepMs);
      const sums = await db.transaction((tx) =>
        sumRollups(tx, { from, to, stepSeconds: stepMs / 1000, provider }),
      );
      const byTime = new Map(sums.map((sum) => [sum.at.getTime(), sum]));
      const points: SeriesPoint[] = [];
      for (let atMs = from.getTime(); atMs < to.getTime(); atMs += stepMs)
        points.push(point(new Date(atMs), byTime.get(atMs)));
      return { from, to, stepSeconds: stepMs / 1000, points };
    },

    async load() {
      const from = await db.now();
      const to = new Date(from.getTime() + loadMinutes * minuteMs);
      const { groups, share } = await db.transaction((tx) =>
        dueGroups(tx, { from, to, isWhole: isOperator }),
      );
      const runs = Array.from({ length: loadMinutes }, () => 0);
      for (const { at, interval, connections } of groups) {
        // The interval starts at the previous run's end, which jitter delays.
        const everyMinutes = (baseInterval(Number(interval), config) * (1 + defaultJitter)) / 60;
        const first = (at.getTime() - from.getTime()) / minuteMs;
        for (let minute = first; minute < loadMinutes; minute += everyMinutes)
          runs[Math.floor(minute)] = (runs[Math.floor(minute)] ?? 0) + connections / share;
      }
      return {
        minutes: runs.map((count, i) => ({
          at: new Date(from.getTime() + i * minuteMs),
          runs: Math.round(count),
        })),
        estimated: share < 1,
      };
    },

    async attention() {
      return db.transaction(async (tx) => {
        const groups = [
          ...(await refusedGroups(tx)).map((row) => ({ row, cause: 'needs_auth' as const })),
          ...(await failingGroups(tx)).map((row) => ({ row, cause: 'failing' as const })),
        ];
        const messages = await lastErrors(
          tx,
          groups.map(({ row }) => row.example),
        );
        const troubles = groups.map(({ row, cause }) => trouble(row, cause, messages.get(row.example)));
        return [
          ...(await overdue(tx)),
          ...(await tooFarAhead(tx)),
          ...(isOperator ? await unserved(tx) : []),
          ...troubles,
        ];
      });
    },
  };

  async function overdue(tx: Transaction): Promise<AttentionItem[]> {
    const before = new Date(tx.now.getTime() - 3 * config.tickIntervalSeconds * 1000);
    const { count, atLeast, since } = await overdueConnections(tx, before);
    if (count === 0) return [];
    const remedy =
      'No scheduler has queued runs of these connections. Check that a scheduler is running (`syncline start`).';
    const unknown = { provider: undefined, failure: undefined, message: undefined, filter: undefined };
    return [{ cause: 'overdue', count, atLeast, since: since ?? undefined, remedy, ...unknown }];
  }

  async function tooFarAhead(tx: Transaction): Promise<AttentionItem[]> {
    const now = tx.now;
    const { connections, jobs } = isOperator
      ? { connections: await connectionsAhead(tx, now, limits), jobs: await jobsAhead(tx, now, limits) }
      : await tenantAhead(tx, now, limits);
    const count = connections.count + jobs.count;
    if (count === 0) return [];
    return [
      {
        cause: 'too_far_ahead',
        provider: undefined,
        failure: undefined,
        count,
        atLeast: connections.atLeast || jobs.atLeast,
        since: undefined,
        message: aheadMessage(connections, jobs),
        remedy:
          'The times of these connections or jobs are later than the schedule allows, so no run starts. ' +
          'Possible causes: the database clock was wrong, another program wrote the times, or the interval was ' +
          'longer. Repair reschedules them (`syncline schedule repair`).',
        filter: undefined,
      },
    ];
  }

  async function unserved(tx: Transaction): Promise<AttentionItem[]> {
    const processes = await findProcesses(tx, tx.now);
    const served = processes.filter(({ alive }) => alive).flatMap(({ providers }) => providers);
    const before = new Date(tx.now.getTime() - unservedAfterMs);
    const waiting = await otherProvidersWaiting(tx, served, before);
    return waiting.map((provider) => ({
      cause: 'unserved',
      provider,
      failure: undefined,
      count: 1,
      atLeast: true,
      since: undefined,
      message: undefined,
      remedy:
        `Jobs of "${provider}" are due, but no running executor has a connector for it. Start an ` +
        'executor with this connector.',
      filter: undefined,
    }));
  }
}

function aheadMessage(connections: Ahead, jobs: Ahead): string {
  const parts = [
    { rows: connections, noun: 'connection', field: 'next_run_at' },
    { rows: jobs, noun: 'queued job', field: 'scheduled_at or retry_after' },
  ].filter(({ rows }) => rows.count > 0);
  return parts
    .map(({ rows: { count, examples }, noun, field }) => {
      const example = examples[0] === undefined ? '' : `, such as ${examples[0]}`;
      return `${count} ${noun}${count === 1 ? '' : 's'} (${field})${example}`;
    })
    .join('; ');
}

function trouble(
  row: TroubleRow,
  cause: 'needs_auth' | 'failing',
  message: string | undefined,
): AttentionItem {
  return {
    cause,
    provider: row.provider_slug,
    failure: row.failure ?? undefined,
    count: Math.min(row.connections, maxCounted),
    atLeast: row.connections > maxCounted,
    since: row.since,
    message,
    remedy: remedies[row.failure ?? 'transient'] ?? (remedies['transient'] as string),
    filter: { health: cause, provider: row.provider_slug },
  };
}

const nextMinute = (at: Date) => new Date(at.getTime() + minuteMs);

function totals(counts: Counts | undefined): Totals {
  const { succeeded = 0, failed = 0, retried = 0, signals = 0 } = counts ?? {};
  return { succeeded, failed, retried, signals };
}

function point(at: Date, counts: (Counts & { at: Date }) | undefined): SeriesPoint {
  const lag = (share: number) => (counts ? percentile(counts.lag, lagEdgesMs, share) : undefined);
  const age = (share: number) => (counts ? percentile(counts.age, ageEdgesSeconds, share) : undefined);
  return {
    at,
    ...totals(counts),
    lagP50Ms: lag(0.5),
    lagP95Ms: lag(0.95),
    freshnessP50Seconds: age(0.5),
    freshnessP95Seconds: age(0.95),
  };
}
