import type { Config } from '../config/settings.ts';
import type { Ports } from '../ports.ts';
import { deleteAuthorizations } from '../store/authorizations.ts';
import { deleteBudgets } from '../store/budgets.ts';
import type { Database, Queryable } from '../store/database.ts';
import { deleteEvents } from '../store/events.ts';
import type { FeedPlace } from '../store/feed.ts';
import { deleteEndedJobs } from '../store/jobs.ts';
import { deleteSessions } from '../store/keys.ts';
import { deleteRollups, mergeRollups } from '../store/rollups.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type Loop, startLoop } from './loop.ts';
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

/** Deletes one batch of each kind; returns whether there may be more. */
async function prune({ db, config, ports, telemetry }: JanitorContext, reached: Reached): Promise<boolean> {
  const now = new Date(ports.now());
  const cutoff = (days: number) => new Date(now.getTime() - days * 24 * 3600 * 1000);
  let isMore = false;

  async function remove(kind: string, work: (tx: Queryable) => Promise<number>): Promise<void> {
    const removed = await db.transaction(work);
    if (removed > 0) telemetry.pruned(removed, kind);
    isMore ||= removed >= batchSize;
  }

  if (ports.monotonicMs() - reached.sinceMs >= startOverMs)
    Object.assign(reached, { ...beginning, sinceMs: ports.monotonicMs() });
  let last: string | null = null;
  await remove('ended job', async (tx) => {
    const range = { from: reached.endedAt, cutoff: cutoff(config.endedJobsDays), limit: batchSize };
    const batch = await deleteEndedJobs(tx, range);
    last = batch.last;
    return batch.deleted;
  });
  reached.endedAt = last ?? reached.endedAt;
  await remove('event', (tx) => deleteEvents(tx, cutoff(config.eventsDays), batchSize));
  const merged = await db.transaction((tx) =>
    mergeRollups(tx, new Date(now.getTime() - fineMs), mergedAtOnce),
  );
  isMore ||= merged === mergedAtOnce;
  await remove('count', (tx) => deleteRollups(tx, cutoff(config.statsDays), batchSize));
  await remove('session', (tx) => deleteSessions(tx, now, batchSize));
  await remove('budget', (tx) => deleteBudgets(tx, cutoff(budgetsDays), batchSize));
  await remove('authorization', (tx) => deleteAuthorizations(tx, now, batchSize));
  if (config.signalsDays > 0) {
    const range = { cutoff: cutoff(config.signalsDays), limit: batchSize };
    const signals = await db.transaction((tx) => pruneSignals(tx, reached.feed, range));
    reached.feed = signals.next;
    if (signals.deleted > 0) telemetry.pruned(signals.deleted, 'signal');
    isMore ||= signals.isMore;
  }
  return isMore;
}
