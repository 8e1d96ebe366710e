import type { Config } from '../config/settings.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import { deleteAuthorizations } from '../store/authorizations.ts';
import { deleteBudgets } from '../store/budgets.ts';
import type { Database, Transaction } from '../store/database.ts';
import { isUnreachable } from '../store/database-errors.ts';
import { deleteDeletions } from '../store/deletions.ts';
import { deleteEvents } from '../store/events.ts';
import type { FeedPlace } from '../store/feed.ts';
import { deleteEndedJobs } from '../store/jobs.ts';
import { deleteSessions } from '../store/keys.ts';
import { deleteRollups, mergeRollups } from '../store/rollups.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { deleteBatch } from './deletion.ts';
import { pruneSignals } from './old-signals.ts';

export interface JanitorContext {
  db: Database;
  config: Config['retention'];
  ports: Ports;
  telemetry: Telemetry;
}

/** Small, so that no delete holds locks or blocks a vacuum for long; enough to keep up with ten thousand syncs a second. */
const batchSize = 2000;
/** After a full batch there is more to do: a short breath for everyone else, then on. */
const breathMs = 50;
/** How long counts are kept by the minute: as far back as a chart by the minute goes, and a little. */
const fineMs = 26 * 3600 * 1000;
const mergedAtOnce = 5000;
/** How long a budget that nobody takes from is remembered: longer than any window of a provider. */
const budgetsDays = 7;
/** How long the progress of a finished deletion can be read. */
const deletionsDays = 7;
const restMs = 60_000;
/** How often ended jobs and old signals are looked for from the beginning of time: some may have been held, or written late. */
const startOverMs = 3600 * 1000;

/** Deletes what is older than it is kept. When a connection last ran is kept with the connection. */
export function startJanitor(context: JanitorContext): Loop {
  const { ports, telemetry } = context;
  const reached: Reached = { ...beginning, sinceMs: ports.monotonicMs() };
  return startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('janitor', error, retryMs),
    runOnce: async () => ((await prune(context, reached)) ? breathMs : restMs),
  });
}

/** How far has been deleted, and since when nothing has been looked for from the beginning. */
interface Reached {
  endedAt: string;
  feed: FeedPlace;
  sinceMs: number;
}

const beginning = { endedAt: '-infinity', feed: { position: 0 } };

/**
 * Deletes one batch of each kind; returns whether there may be more. A kind that cannot be deleted (somebody else's table refers to
 * it, say) must not keep all others: they come first, then the failure.
 */
async function prune({ db, config, ports, telemetry }: JanitorContext, reached: Reached): Promise<boolean> {
  const cutoff = (now: Date, days: number) => new Date(now.getTime() - days * 24 * 3600 * 1000);
  const failures: unknown[] = [];
  let isMore = false;

  async function apart(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      if (isUnreachable(error)) throw error;
      failures.push(error);
    });
  }
  function tell(kind: string, removed: number, mayBeMore = removed >= batchSize): void {
    if (removed > 0) telemetry.pruned(removed, kind);
    isMore ||= mayBeMore;
  }
  const remove = (kind: string, work: (tx: Transaction) => Promise<number>) =>
    apart(async () => tell(kind, await db.transaction(work)));

  if (ports.monotonicMs() - reached.sinceMs >= startOverMs)
    Object.assign(reached, { ...beginning, sinceMs: ports.monotonicMs() });
  await apart(async () => {
    const range = { from: reached.endedAt, limit: batchSize };
    const { deleted, last } = await db.transaction((tx) =>
      deleteEndedJobs(tx, { ...range, cutoff: cutoff(tx.now, config.endedJobsDays) }),
    );
    reached.endedAt = last ?? reached.endedAt;
    tell('ended job', deleted);
  });
  await remove('event', (tx) => deleteEvents(tx, cutoff(tx.now, config.eventsDays), batchSize));
  await apart(async () => {
    const merged = await db.transaction((tx) =>
      mergeRollups(tx, new Date(tx.now.getTime() - fineMs), mergedAtOnce),
    );
    isMore ||= merged === mergedAtOnce;
  });
  await remove('count', (tx) => deleteRollups(tx, cutoff(tx.now, config.statsDays), batchSize));
  await remove('session', (tx) => deleteSessions(tx, tx.now, batchSize));
  await remove('budget', (tx) => deleteBudgets(tx, cutoff(tx.now, budgetsDays), batchSize));
  await remove('authorization', (tx) => deleteAuthorizations(tx, tx.now, batchSize));
  await apart(async () => {
    isMore = (await deleteBatch({ db, ports })) !== 'none' || isMore;
  });
  await remove('deletion', (tx) => deleteDeletions(tx, cutoff(tx.now, deletionsDays), batchSize));
  if (config.signalsDays > 0)
    await apart(async () => {
      const {
        deleted,
        isMore: isCut,
        next,
      } = await db.transaction((tx) =>
        pruneSignals(tx, reached.feed, { cutoff: cutoff(tx.now, config.signalsDays), limit: batchSize }),
      );
      reached.feed = next;
      tell('signal', deleted, isCut);
    });
  if (failures.length > 0) throw failures[0];
  return isMore;
}
