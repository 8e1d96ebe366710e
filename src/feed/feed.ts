import type { Caller } from '../caller/caller.ts';
import { pageLimit } from '../caller/keyset.ts';
import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { advanceConsumer, findConsumer, takeConsumer } from '../store/consumers.ts';
import type { Database } from '../store/database.ts';
import { type FeedPlace, startOfFeed } from '../store/feed.ts';
import { maxPageBytes } from '../store/page-bytes.ts';
import type { SignalFilter } from '../store/signals.ts';
import { requireText, requireWhole } from '../values/arguments.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { feedCursor, feedPlace } from './cursor.ts';
import { placeAtStart } from './proof.ts';
import type { FeedItem, FeedReader, Outlook } from './reader.ts';
import { checkedFilter, type SignalsFilter, type StoredSignal, toSignal } from './signals.ts';
import type { FeedWatch, Waited } from './watch.ts';

/** A signal of the feed, and the place behind it. */
export interface FeedSignal extends StoredSignal {
  cursor: string;
}

export interface FeedOptions extends SignalsFilter {
  /** A cursor of the feed, `beginning` or `latest`; the beginning unless given. A consumer goes on where it stands. */
  after?: string | undefined;
  /** The name under which it is remembered how far has been read. */
  consumer?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface FeedRead extends FeedOptions {
  /** 1 to 100. */
  limit?: number | undefined;
  /** What the page may hold in bytes, up to 8 MB. One signal is always read, however large. */
  maxBytes?: number | undefined;
  /** Whether payloads are read; they are unless this is false. */
  payload?: boolean | undefined;
  waitMs?: number | undefined;
}

/** Runs around every read of a page, for callers that bound how many are in memory at a time. */
type Look = <Found extends { items: readonly unknown[] }>(advance: () => Promise<Found>) => Promise<Found>;

/** How often a feed looks at a transaction that is just committing: milliseconds are enough for one. */
const committingMs = 20;
/** The longest that a request waits for signals; longer ones are cut by proxies. */
const maxWaitMs = 30_000;
/** Steps of one read: enough to pass 1,000 commits that have nothing for this reader. */
const maxSteps = 20;
/** How often a reader that waits looks by itself, should it not be woken. */
const restMs = 10_000;

export interface FeedContext {
  db: Database;
  ports: Ports;
  who: Caller;
  reader: FeedReader;
  watch: FeedWatch;
  json: ReadJson;
}

/** Signals in the order of commits, each once. */
export function createFeed({ db, ports, who, reader, watch, json }: FeedContext) {
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
    /** It was to begin wherever the feed does, and nothing has been handed out yet. */
    fromBeginning: boolean;
  }

  /** Reads on until there is something, the end is reached or as many steps were taken as one read may take. */
  async function advance(from: FeedPlace, { scope, fromBeginning, payload = true, ...wanted }: Reading) {
    let place = from;
    for (let steps = 1; ; steps++) {
      const step = await reader.step(scope, place, { ...wanted, payload }).catch((error: unknown) => {
        if (fromBeginning && isExpired(error) && steps < maxSteps) return undefined;
        throw error;
      });
      if (step) {
        const { items, next, outlook } = step;
        place = next;
        if (items.length > 0 || outlook !== 'more' || steps === maxSteps) return { items, place, outlook };
      } else {
        // The beginning names no place that could have expired: while old signals are deleted, it moves on.
        place = await startPlace();
      }
    }
  }

  return {
    /**
     * What comes next in the feed: signals in the order in which their transactions committed, each once. Waits up to
     * `waitMs` if there is nothing yet. `nextCursor` is where to go on, also when nothing came. A consumer's place is
     * read, not moved: move it when what was read has been dealt with.
     */
    async read(
      options: FeedRead = {},
      look: Look = (advance) => advance(),
    ): Promise<{ items: FeedSignal[]; nextCursor: string }> {
      const {
        after,
        consumer,
        signal,
        limit: wanted,
        waitMs = 0,
        tenantId,
        payload,
        maxBytes,
        ...given
      } = options;
      if (maxBytes !== undefined) requireWhole('maxBytes', maxBytes, 1, maxPageBytes);
      const limit = pageLimit(wanted);
      requireWhole('waitMs', waitMs, 0, maxWaitMs);
      const scope = db.scopedTo(tenantId);
      const filter = checkedFilter(given);
      const stored = consumer === undefined ? undefined : await findConsumer(scope, consumerName(consumer));
      const endMs = ports.monotonicMs() + waitMs;
      const start = after ?? stored?.after;
      const reading = { scope, filter, limit, payload, maxBytes, fromBeginning: isBeginning(start) };
      let place = await placeAfter(start);
      let known = 0;
      for (;;) {
        const from = place;
        const found = await look(() => advance(from, reading));
        place = found.place;
        const leftMs = endMs - ports.monotonicMs();
        if (found.items.length > 0 || leftMs <= 0 || signal?.aborted)
          return { items: found.items.map((item) => toFed(item, json)), nextCursor: feedCursor(place) };
        known = await pause(found.outlook, { beyond: place.position, known }, leftMs, signal);
      }
    },

    /**
     * Every signal in the order of commits, for ever, until the signal aborts or the loop is left. With a consumer it is
     * remembered how far has been read: a signal counts as dealt with when the next one is asked for, so after a crash
     * only the one in hand comes again. Whoever begins to read under a name takes it over from who read before.
     */
    async *feed({ tenant, ...options }: FeedOptions & { tenant?: string } = {}): AsyncGenerator<FeedSignal> {
      const { after, consumer, signal, tenantId = tenant, ...given } = options;
      const scope = db.scopedTo(tenantId);
      const filter = checkedFilter(given);
      const place = await placeAfter(after);
      const save = consumer === undefined ? undefined : await savesAs(consumerName(consumer), place);
      let current = save ? feedPlace(save.after) : place;
      let fromBeginning = isBeginning(after) && (save?.isNew ?? true);
      let known = 0;
      while (!signal?.aborted) {
        const reading = { scope, filter, limit: 100, fromBeginning };
        const { items, place: next, outlook } = await advance(current, reading);
        if (items.length > 0 || outlook !== 'committing') fromBeginning = false;
        for (const item of items) {
          yield toFed(item, json);
          await save?.to(item.place);
        }
        // What came behind the last one, and was for others, is dealt with, too.
        const saved = items.at(-1)?.place ?? current;
        if (feedCursor(next) !== feedCursor(saved)) await save?.to(next);
        current = next;
        if (items.length === 0)
          known = await pause(outlook, { beyond: current.position, known }, restMs, signal);
      }

      async function savesAs(name: string, start: FeedPlace) {
        const id = ports.newId();
        const key = { tenantId: tenantId ?? who.tenantId, name };
        const now = () => new Date(ports.now());
        return {
          ...(await takeConsumer(db, now(), key, id, feedCursor(start))),
          async to(reached: FeedPlace): Promise<void> {
            if (!(await advanceConsumer(db, now(), key, id, feedCursor(reached))))
              throw new SynclineError(
                'CONFLICT',
                `Consumer "${name}" is read or was moved by somebody else.`,
                {
                  hint: 'Run one reader under a name at a time.',
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
    if (outlook === 'committing') await ports.sleep(Math.min(ms, committingMs), signal ?? never);
    return waited.known;
  }
}

const isBeginning = (after: string | undefined): after is 'beginning' | undefined =>
  after === undefined || after === 'beginning';

const isExpired = (error: unknown) => error instanceof SynclineError && error.code === 'EXPIRED';

const never = new AbortController().signal;

export function consumerName(name: string): string {
  requireText('consumer', name, 100);
  return name;
}

function toFed({ row, place }: FeedItem, json: ReadJson): FeedSignal {
  return { ...toSignal(row, json), cursor: feedCursor(place) };
}
