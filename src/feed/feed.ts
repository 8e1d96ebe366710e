import type { Caller } from '../caller/caller.ts';
import { pageLimit } from '../caller/keyset.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { never } from '../platform/retry.ts';
import { advanceConsumer, findConsumer, takeConsumer } from '../store/consumers.ts';
import type { Database } from '../store/database.ts';
import { type FeedPlace, startOfFeed } from '../store/feed.ts';
import type { SignalFilter } from '../store/signals.ts';
import { requireText, requireWhole } from '../values/arguments.ts';
import { maxPageBytes } from '../values/limits.ts';
import type { ReadJson } from '../values/stored-json.ts';
import type { FeedRead, PageReadWrapper, SignalsApi } from './api.ts';
import { feedCursor, feedPlace } from './cursor.ts';
import { feedSignalFromItem } from './model.ts';
import { placeAtStart } from './proof.ts';
import type { FeedReader, Outlook } from './reader.ts';
import { checkedFilter } from './signals.ts';
import type { FeedWatch, Waited } from './watch.ts';

/** While a transaction commits. */
const committingPollMs = 20;
/** Proxies cut longer requests. */
const maxWaitMs = 30_000;
/** Skips 1,000 commits without matches. */
const maxSteps = 20;
const idlePollMs = 10_000;

export interface FeedContext {
  db: Database;
  ports: Ports;
  caller: Caller;
  reader: FeedReader;
  watch: FeedWatch;
  json: ReadJson;
}

export function createFeed({
  db,
  ports,
  caller,
  reader,
  watch,
  json,
}: FeedContext): Pick<SignalsApi, 'read' | 'feed'> {
  async function placeAfter(after: string | undefined): Promise<FeedPlace> {
    if (after === 'latest') return reader.latest(db);
    return isBeginning(after) ? startPlace() : feedPlace(after);
  }

  const startPlace = async (): Promise<FeedPlace> => placeAtStart(await startOfFeed(db));

  interface Reading {
    scope: Database;
    filter: SignalFilter;
    limit: number;
    payload?: boolean | undefined;
    maxBytes?: number | undefined;
    /** At `beginning`, nothing delivered yet. */
    fromBeginning: boolean;
  }

  async function advance(from: FeedPlace, { scope, fromBeginning, payload = true, ...page }: Reading) {
    let place = from;
    for (let steps = 1; ; steps++) {
      const step = await reader.step(scope, place, { ...page, payload }).catch((error: unknown) => {
        if (fromBeginning && isExpired(error) && steps < maxSteps) return undefined;
        throw error;
      });
      if (step) {
        const { items, next, outlook } = step;
        place = next;
        if (items.length > 0 || outlook !== 'more' || steps === maxSteps) return { items, place, outlook };
      } else {
        // `beginning` cannot expire.
        place = await startPlace();
      }
    }
  }

  return {
    async read(options: FeedRead = {}, wrapRead: PageReadWrapper = (advance) => advance()) {
      const {
        after,
        consumer,
        signal,
        limit: requestedLimit,
        waitMs = 0,
        tenantId,
        payload,
        maxBytes,
        ...filters
      } = options;
      if (maxBytes !== undefined) requireWhole('maxBytes', maxBytes, 1, maxPageBytes);
      const limit = pageLimit(requestedLimit);
      requireWhole('waitMs', waitMs, 0, maxWaitMs);
      const scope = db.scopedTo(tenantId);
      const filter = checkedFilter(filters);
      const stored = consumer === undefined ? undefined : await findConsumer(scope, consumerName(consumer));
      const endMs = ports.monotonicMs() + waitMs;
      const start = after ?? stored?.after;
      const reading = { scope, filter, limit, payload, maxBytes, fromBeginning: isBeginning(start) };
      let place = await placeAfter(start);
      let known = 0;
      for (;;) {
        const from = place;
        const found = await wrapRead(() => advance(from, reading));
        place = found.place;
        const leftMs = endMs - ports.monotonicMs();
        if (found.items.length > 0 || leftMs <= 0 || signal?.aborted)
          return {
            items: found.items.map((item) => feedSignalFromItem(item, json)),
            nextCursor: feedCursor(place),
          };
        known = await pause(found.outlook, { beyond: place.position, known }, leftMs, signal);
      }
    },

    async *feed({ after, consumer, signal, tenantId, ...filters } = {}) {
      const scope = db.scopedTo(tenantId);
      const filter = checkedFilter(filters);
      const place = await placeAfter(after);
      const taken = consumer === undefined ? undefined : await takeOver(consumerName(consumer), place);
      let current = taken ? feedPlace(taken.after) : place;
      let fromBeginning = isBeginning(after) && (taken?.isNew ?? true);
      let known = 0;
      while (!signal?.aborted) {
        const reading = { scope, filter, limit: 100, fromBeginning };
        const { items, place: next, outlook } = await advance(current, reading);
        if (items.length > 0 || outlook !== 'committing') fromBeginning = false;
        for (const item of items) {
          yield feedSignalFromItem(item, json);
          await taken?.save(item.place);
        }
        // Also past excluded items.
        const saved = items.at(-1)?.place ?? current;
        if (feedCursor(next) !== feedCursor(saved)) await taken?.save(next);
        current = next;
        if (items.length === 0)
          known = await pause(outlook, { beyond: current.position, known }, idlePollMs, signal);
      }

      async function takeOver(name: string, start: FeedPlace) {
        const takenAt = await db.now();
        const id = ports.newId();
        const key = { tenantId: tenantId ?? caller.tenantId, name };
        return {
          ...(await takeConsumer(db, takenAt, key, id, feedCursor(start))),
          async save(reached: FeedPlace): Promise<void> {
            const now = new Date(ports.now());
            if (!(await advanceConsumer(db, now, key, id, feedCursor(reached))))
              throw new SynclineError(
                'CONFLICT',
                `Consumer "${name}" was taken over by another reader, or was moved.`,
                {
                  hint: 'Run one reader per consumer name.',
                },
              );
          },
        };
      }
    },
  };

  async function pause(
    outlook: Outlook,
    waited: Waited,
    ms: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (outlook === 'end') return watch.wait(waited, ms, signal);
    if (outlook === 'committing') await ports.sleep(Math.min(ms, committingPollMs), signal ?? never);
    return waited.known;
  }
}

const isBeginning = (after: string | undefined): after is 'beginning' | undefined =>
  after === undefined || after === 'beginning';

const isExpired = (error: unknown) => error instanceof SynclineError && error.code === 'EXPIRED';

export function consumerName(name: string): string {
  requireText('consumer', name, 100);
  return name;
}
