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

/** Bounds lock time and vacuum delay; keeps up with 10,000 syncs a second. */
const batchSize = 2000;
const batchPauseMs = 50;
/** The per-minute chart shows 24 h. */
const minuteRollupsMs = 26 * 3600 * 1000;
const mergeBatchSize = 5000;
/** Longer than any provider's window. */
const budgetsDays = 7;
const deletionsDays = 7;
const idlePauseMs = 60_000;
/** Rescans: rows may be locked or written late. */
const fullScanIntervalMs = 3600 * 1000;

/** SCH-8: `last` is stored with the connection. */
export function startJanitor(context: JanitorContext): Loop {
  const { ports, telemetry } = context;
  const progress: Progress = { ...start, sinceMs: ports.monotonicMs() };
  return startLoop({
    ports,
    onFailure: (error, retryMs) => telemetry.roundFailed('janitor', error, retryMs),
    runOnce: async () => ((await prune(context, progress)) ? batchPauseMs : idlePauseMs),
  });
}

/** True: finished. */
export async function pruneFor(
  context: JanitorContext,
  { maxMs, signals }: { maxMs: number; signals: readonly AbortSignal[] },
): Promise<boolean> {
  const { monotonicMs } = context.ports;
  const startedMs = monotonicMs();
  const progress: Progress = { ...start, sinceMs: startedMs };
  while (!signals.some(({ aborted }) => aborted)) {
    if (!(await prune(context, progress))) return true;
    if (monotonicMs() - startedMs >= maxMs) return false;
  }
  return false;
}

interface Progress {
  endedAt: string;
  feed: FeedPlace;
  sinceMs: number;
}

const start = { endedAt: '-infinity', feed: { position: 0 } };

/**
 * One batch per kind; true: there may be more. A failing kind (a foreign key of another application) does not
 * stop others; its error is thrown last.
 */
async function prune({ db, config, ports, telemetry }: JanitorContext, progress: Progress): Promise<boolean> {
  const cutoff = (now: Date, days: number) => new Date(now.getTime() - days * 24 * 3600 * 1000);
  const failures: unknown[] = [];
  let isMore = false;

  async function collectFailure(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      if (isUnreachable(error)) throw error;
      failures.push(error);
    });
  }
  function report(kind: string, removed: number, mayBeMore = removed >= batchSize): void {
    if (removed > 0) telemetry.pruned(removed, kind);
    isMore ||= mayBeMore;
  }
  const remove = (kind: string, work: (tx: Transaction) => Promise<number>) =>
    collectFailure(async () => report(kind, await db.transaction(work)));

  if (ports.monotonicMs() - progress.sinceMs >= fullScanIntervalMs)
    Object.assign(progress, { ...start, sinceMs: ports.monotonicMs() });
  await collectFailure(async () => {
    const range = { from: progress.endedAt, limit: batchSize };
    const { deleted, last } = await db.transaction((tx) =>
      deleteEndedJobs(tx, { ...range, cutoff: cutoff(tx.now, config.endedJobsDays) }),
    );
    progress.endedAt = last ?? progress.endedAt;
    report('ended job', deleted);
  });
  await remove('event', (tx) => deleteEvents(tx, cutoff(tx.now, config.eventsDays), batchSize));
  await collectFailure(async () => {
    const merged = await db.transaction((tx) =>
      mergeRollups(tx, new Date(tx.now.getTime() - minuteRollupsMs), mergeBatchSize),
    );
    isMore ||= merged === mergeBatchSize;
  });
  await remove('count', (tx) => deleteRollups(tx, cutoff(tx.now, config.statsDays), batchSize));
  await remove('session', (tx) => deleteSessions(tx, tx.now, batchSize));
  await remove('budget', (tx) => deleteBudgets(tx, cutoff(tx.now, budgetsDays), batchSize));
  await remove('authorization', (tx) => deleteAuthorizations(tx, tx.now, batchSize));
  await collectFailure(async () => {
    isMore = (await deleteBatch({ db, ports })) !== 'none' || isMore;
  });
  await remove('deletion', (tx) => deleteDeletions(tx, cutoff(tx.now, deletionsDays), batchSize));
  if (config.signalsDays > 0)
    await collectFailure(async () => {
      const {
        deleted,
        isMore: mayBeMore,
        next,
      } = await db.transaction((tx) =>
        pruneSignals(tx, progress.feed, { cutoff: cutoff(tx.now, config.signalsDays), limit: batchSize }),
      );
      progress.feed = next;
      report('signal', deleted, mayBeMore);
    });
  if (failures.length > 0) throw failures[0];
  return isMore;
}
