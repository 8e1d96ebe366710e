import { requireText, requireUuid, requireWhole } from './checks.ts';
import { SynclineError } from './errors.ts';
import { type FeedPlace, feedCursor, feedPlace } from './feed/cursor.ts';
import { type FeedReader, type Outlook, placeOf } from './feed/reader.ts';
import type { FeedWatch } from './feed/watch.ts';
import { firstIdAt } from './ids.ts';
import {
  filteredPage,
  instantPart,
  keyOf,
  mapPage,
  mostScanned,
  type Page,
  type PageRequest,
  pageLimit,
  uuidPart,
} from './page.ts';
import type { Ports } from './ports.ts';
import { advanceConsumer, findConsumer, takeConsumer } from './store/consumers.ts';
import type { Database, Queryable } from './store/database.ts';
import { type FeedRow, lastPosition, startOfFeed } from './store/feed.ts';
import {
  findSignal,
  lastReceivedListed,
  lastSignalListed,
  listReceived,
  listSignals,
  type SignalFilter,
  type SignalRow,
} from './store/signals.ts';
import type { Who } from './who.ts';

/** A signal as it was stored. */
export interface StoredSignal {
  id: string;
  tenantId: string;
  provider: string;
  connectionId: string;
  /** What the provider calls its connection. */
  connectionName: string | undefined;
  /** The job whose run stored it. */
  jobId: string | undefined;
  kind: string;
  occurredAt: Date;
  receivedAt: Date;
  /** Undefined in lists that were asked for without payloads. */
  payload: unknown;
  dedupeKey: string | undefined;
}

/** A signal of the feed, and the place behind it. */
export interface FedSignal extends StoredSignal {
  cursor: string;
}

export interface SignalsFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  provider?: string | undefined;
  kind?: string | undefined;
}

export interface ListedSignals extends SignalsFilter, PageRequest {
  jobId?: string | undefined;
  /** Made (by their ids) at or after, and before. */
  since?: Date | undefined;
  until?: Date | undefined;
  /** Whether payloads are wanted; they are unless this is false. */
  payload?: boolean | undefined;
}

export interface FeedOptions extends SignalsFilter {
  /** A cursor of the feed, `beginning` or `latest`; the beginning unless given. A consumer goes on where it stands. */
  after?: string | undefined;
  /** The name under which it is remembered how far has been read. */
  consumer?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** How often a feed looks at a transaction that is just committing: milliseconds are enough for one. */
const committingMs = 20;
/** The longest that a request waits for signals; longer ones are cut by proxies. */
const longestWaitMs = 30_000;
/** Steps of one read: enough to pass 1,000 commits that have nothing for this reader. */
const mostSteps = 20;
/** How often a reader that waits looks by itself, should it not be woken. */
const restMs = 10_000;

export interface SignalsContext {
  db: Database;
  ports: Ports;
  who: Who;
  reader: FeedReader;
  watch: FeedWatch;
}

export function createSignals({ db, ports, who, reader, watch }: SignalsContext) {
  const asFilter = ({ since, until, ...filter }: Omit<ListedSignals, 'payload'>): SignalFilter => {
    if (filter.tenantId !== undefined) requireUuid('tenantId', filter.tenantId);
    if (filter.connectionId !== undefined) requireUuid('connection', filter.connectionId);
    if (filter.jobId !== undefined) requireUuid('jobId', filter.jobId);
    return { ...filter, from: firstIdAt('since', since), until: firstIdAt('until', until) };
  };

  async function placeAfter(after: string | undefined): Promise<FeedPlace> {
    if (after === 'latest') return { position: await lastPosition(db) };
    if (after !== undefined && after !== 'beginning') return feedPlace(after);
    return { position: await startOfFeed(db) };
  }

  /** Reads on until there is something, the end is reached or as many steps were taken as one read may take. */
  async function advance(scope: Database, from: FeedPlace, filter: SignalFilter, limit: number) {
    let place = from;
    for (let steps = 1; ; steps++) {
      const { rows, next, outlook } = await reader.step(scope, place, filter, limit);
      place = next;
      if (rows.length > 0 || outlook !== 'more' || steps === mostSteps) return { rows, place, outlook };
    }
  }

  return {
    /** The newest first. */
    async list({
      cursor,
      limit: wanted,
      payload = true,
      ...given
    }: ListedSignals = {}): Promise<Page<StoredSignal>> {
      const limit = pageLimit(wanted);
      const filter = asFilter(given);
      const scan = mostScanned;
      const page = await db.transaction((tx) =>
        filter.connectionId === undefined ? byId(tx) : byConnection(tx, filter.connectionId),
      );
      return mapPage(page, toSignal);

      async function byId(tx: Queryable): Promise<Page<SignalRow>> {
        const before = keyOf('signals', cursor, [uuidPart])?.[0];
        const rows = await listSignals(tx, filter, { before, limit: limit + 1, payload, scan });
        return filteredPage(
          'signals',
          limit,
          rows,
          ({ id }) => [id],
          async () => {
            const last = await lastSignalListed(tx, filter, { before, scan });
            return last === undefined ? undefined : [last];
          },
        );
      }

      async function byConnection(tx: Queryable, connectionId: string): Promise<Page<SignalRow>> {
        const [received, id] = keyOf('received', cursor, [instantPart, uuidPart]) ?? [];
        const before = received === undefined || id === undefined ? undefined : { received, id };
        const rows = await listReceived(tx, connectionId, filter, {
          before,
          limit: limit + 1,
          payload,
          scan,
        });
        return filteredPage<SignalRow & { received: string }>(
          'received',
          limit,
          rows,
          (row) => [row.received, row.id],
          async () => {
            const last = await lastReceivedListed(tx, connectionId, { before, scan });
            return last && [last.received, last.id];
          },
        );
      }
    },

    async get(id: string): Promise<StoredSignal> {
      requireUuid('signal', id);
      const row = await findSignal(db, id);
      if (!row) throw new SynclineError('NOT_FOUND', `There is no signal ${id}.`);
      return toSignal(row);
    },

    /**
     * What comes next in the feed: signals in the order in which their transactions committed, each once. Waits up to
     * `waitMs` if there is nothing yet. `nextCursor` is where to go on, also when nothing came. A consumer's place is
     * read, not moved: move it when what was read has been dealt with.
     */
    async read(
      options: FeedOptions & { limit?: number | undefined; waitMs?: number | undefined } = {},
    ): Promise<{ items: FedSignal[]; nextCursor: string }> {
      const { after, consumer, signal, limit: wanted, waitMs = 0, tenantId, ...given } = options;
      const limit = pageLimit(wanted);
      requireWhole('waitMs', waitMs, 0, longestWaitMs);
      const scope = db.scopedTo(tenantId);
      const filter = asFilter(given);
      const stored = consumer === undefined ? undefined : await findConsumer(scope, consumerName(consumer));
      const endMs = ports.monotonicMs() + waitMs;
      let place = await placeAfter(after ?? stored?.after);
      for (;;) {
        const found = await advance(scope, place, filter, limit);
        place = found.place;
        const leftMs = endMs - ports.monotonicMs();
        if (found.rows.length > 0 || leftMs <= 0 || signal?.aborted)
          return { items: found.rows.map(toFed), nextCursor: feedCursor(place) };
        await pause(found.outlook, place, leftMs, signal);
      }
    },

    /**
     * Every signal in the order of commits, for ever, until the signal aborts or the loop is left. With a consumer it is
     * remembered how far has been read: a signal counts as dealt with when the next one is asked for, so after a crash
     * only the one in hand comes again. Whoever begins to read under a name takes it over from who read before.
     */
    async *feed({ tenant, ...options }: FeedOptions & { tenant?: string } = {}): AsyncGenerator<FedSignal> {
      const { after, consumer, signal, tenantId = tenant, ...given } = options;
      const scope = db.scopedTo(tenantId);
      const filter = asFilter(given);
      const place = await placeAfter(after);
      const save = consumer === undefined ? undefined : await savesAs(consumerName(consumer), place);
      let current = save ? feedPlace(save.after) : place;
      while (!signal?.aborted) {
        const { rows, place: next, outlook } = await advance(scope, current, filter, 100);
        for (const row of rows) {
          yield toFed(row);
          await save?.to(placeOf(row));
        }
        if (rows.length === 0 && next.position > current.position) await save?.to(next);
        current = next;
        if (rows.length === 0) await pause(outlook, current, restMs, signal);
      }

      async function savesAs(name: string, start: FeedPlace) {
        const id = ports.newId();
        const key = { tenantId: tenantId ?? who.tenantId, name };
        const now = () => new Date(ports.now());
        const stands = await takeConsumer(db, now(), key, id, feedCursor(start));
        return {
          after: stands,
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
    place: FeedPlace,
    ms: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (outlook === 'end') await watch.wait(place.position, ms, signal);
    else if (outlook === 'committing') await ports.sleep(Math.min(ms, committingMs), signal ?? never);
  }
}

const never = new AbortController().signal;

export function consumerName(name: string): string {
  requireText('consumer', name, 100);
  return name;
}

function toSignal(row: SignalRow): StoredSignal {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    connectionId: row.connection_id,
    connectionName: row.connection_name ?? undefined,
    jobId: row.job_id ?? undefined,
    kind: row.kind,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    payload: row.payload,
    dedupeKey: row.dedupe_key ?? undefined,
  };
}

function toFed(row: FeedRow): FedSignal {
  return { ...toSignal(row), cursor: feedCursor(placeOf(row)) };
}
