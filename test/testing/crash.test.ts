import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ascend,
  ascendingCursor,
  CursorExpiredError,
  createHttp,
  descend,
  descendingCursor,
  PermanentError,
  type SyncContext,
} from '../../src/connector-kit/index.ts';
import { type CrashTestOptions, crashTest, formatCrashReport } from '../../src/testing/index.ts';
import { connector } from '../support/connector.ts';

interface Item {
  id: number;
  at: string;
}

/** Ten items, two per second. */
const items = (): Item[] =>
  Array.from({ length: 10 }, (_, i) => ({ id: i + 1, at: `2025-01-01T00:00:0${Math.floor(i / 2)}.000Z` }));

/** A fake provider with `since` (inclusive by default), `page`, `order` and ETags. */
function provider() {
  let list = items();
  const answer = (url: URL, etag: string | null): Response => {
    const since = url.searchParams.get('since');
    const page = Number(url.searchParams.get('page') ?? 1);
    const isExclusive = url.searchParams.has('exclusive');
    const found = list.filter(({ at }) => !since || (isExclusive ? at > since : at >= since));
    if (url.searchParams.get('order') === 'newest') found.reverse();
    const tag = `"${list.length}-${url.search}"`;
    if (etag === tag) return new Response(null, { status: 304 });
    const shown = found.slice((page - 1) * 3, page * 3);
    return Response.json(
      { items: shown, next: found.length > page * 3 ? String(page + 1) : null },
      { headers: { etag: tag } },
    );
  };
  return {
    fetch: (async (input, init) =>
      answer(new URL(String(input)), new Headers(init?.headers).get('if-none-match'))) as typeof fetch,
    reset: () => {
      list = items();
    },
    add: (item: Item) => {
      list.push(item);
    },
  };
}

const page = z.object({
  items: z.array(z.object({ id: z.number(), at: z.string() })),
  next: z.string().nullable(),
});
const signalOf = ({ id, at }: Item) => ({
  kind: 'item',
  occurredAt: at,
  payload: { id },
  dedupeKey: String(id),
});
const withoutKey = ({ dedupeKey: _, ...signal }: ReturnType<typeof signalOf>) => signal;

const list = (context: SyncContext, query: Record<string, string | undefined>, headers = {}) =>
  createHttp(context, { baseUrl: 'http://provider.example' }).get('/items', {
    query,
    headers,
    schema: page,
    expired: [410],
  });

const ascending = (keyed: typeof signalOf | ((item: Item) => object) = signalOf) =>
  connector(async (context) => {
    const cursor = ascendingCursor.parse(context.cursor ?? {});
    const { data } = await list(context, { since: cursor.since, page: cursor.page?.toString() });
    const moved = ascend(cursor, { times: data.items.map(({ at }) => at), isFull: data.items.length === 3 });
    return { signals: data.items.map(keyed), nextCursor: moved.cursor, hasMore: moved.hasMore };
  });

const descending = connector(async (context) => {
  const cursor = descendingCursor.parse(context.cursor ?? {});
  const query = { order: 'newest', since: cursor.watermark, page: cursor.walk?.page };
  const { data } = await list(context, query);
  const moved = descend(cursor, { newest: data.items[0]?.at, nextPage: data.next ?? undefined });
  return { signals: data.items.map(signalOf), nextCursor: moved.cursor, hasMore: moved.hasMore };
});

const options = (more: CrashTestOptions = {}): CrashTestOptions => {
  const { fetch, reset, add } = provider();
  const later = () => add({ id: 11, at: '2025-01-01T00:00:04.000Z' });
  return { fetch, reset, later, expected: 10, seed: 1, ...more };
};

describe('crash test: correct connectors pass', () => {
  it('crash test: an ascending walk passes with crashes and faults at every request', async () => {
    const steps: string[] = [];
    const report = await crashTest(
      ascending(),
      options({ faults: 'every', onProgress: ({ round }) => steps.push(round) }),
    );
    expect(report).toMatchObject({
      signals: 10,
      crashes: report.requests * 2 + report.pages,
      faults: report.requests * 6,
      unreached: 0,
      left: 0,
      problems: [],
    });
    expect(report.secondCrashes).toBeGreaterThan(10);
    expect(steps.at(-1)).toBe('done');
    expect(formatCrashReport(report)).toMatch(/No signals lost, none duplicated\.$/);
  });

  it('crash test: a descending walk passes if it advances the watermark at its end', async () => {
    expect((await crashTest(descending, options())).problems).toEqual([]);
  });

  it('crash test: without context.fetch, crashes are between pages and the report says so', async () => {
    const own = connector(({ cursor }) => {
      const at = (cursor as number | undefined) ?? 0;
      return {
        signals: items()
          .slice(at, at + 3)
          .map(signalOf),
        nextCursor: at + 3,
        hasMore: at + 3 < 10,
      };
    });
    const report = await crashTest(own, { expected: 10 });
    expect(report).toMatchObject({ requests: 0, faults: 0, crashes: 4 });
    expect(formatCrashReport(report)).toContain('does not use context.fetch');
  });
});

describe('crash test: faulty connectors fail', () => {
  it('crash test: detects a watermark advanced on page 1 of a newest-first list', async () => {
    // After an expired page token it restarts from the watermark and skips the unread pages.
    const wrong = connector(async (context) => {
      const { watermark, walk } = (context.cursor ?? {}) as { watermark?: string; walk?: string };
      try {
        const { data } = await list(context, {
          order: 'newest',
          since: walk ? undefined : watermark,
          page: walk,
        });
        const newest = walk ? watermark : data.items[0]?.at;
        return {
          signals: data.items.map(signalOf),
          nextCursor: { watermark: newest, ...(data.next && { walk: data.next }) },
          hasMore: data.next !== null,
        };
      } catch (error) {
        if (!(error instanceof CursorExpiredError) || !walk) throw error;
        return { signals: [], nextCursor: { watermark }, hasMore: true };
      }
    });
    await expect(crashTest(wrong, options({ faults: 'every' }))).rejects.toThrow(
      /^Request 2 answered with 410: 7 signals lost, such as item \{"id":7\}.*To reproduce: only: 'request 2 answered with 410', seed: 1\.$/,
    );
  });

  it('crash test: detects an aborted walk that advances its watermark', async () => {
    const wrong = connector(async (context) => {
      const signals = [];
      let next: string | null = '1';
      try {
        while (next) {
          const answer = await list(context, { order: 'newest', page: next });
          signals.push(...answer.data.items.map(signalOf));
          next = answer.data.next;
        }
      } catch {
        context.log.warn('keeping a partial result after an error');
      }
      return { signals, nextCursor: 'promoted' };
    });
    await expect(crashTest(wrong, options({ faults: 'every', later: undefined }))).rejects.toThrow(
      /^Request 1 answered with 429: 10 signals lost/,
    );
  });

  const exclusive = connector(async (context) => {
    const { data } = await list(context, { exclusive: '', since: context.cursor as string | undefined });
    return {
      signals: data.items.map(signalOf),
      nextCursor: data.items.at(-1)?.at,
      hasMore: data.items.length === 3,
    };
  });

  it('crash test: detects an exclusive cursor that loses ties at the end of a page', async () => {
    await expect(crashTest(exclusive, options())).rejects.toThrow(
      /^Undisturbed: 8 signals were stored, expected 10/,
    );
  });

  it('crash test: detects an exclusive cursor that loses later items with the same time', async () => {
    await expect(crashTest(exclusive, options({ expected: undefined }))).rejects.toThrow(
      /^What came later: a new connection finds more than the next sync did: 1 signal lost, such as item \{"id":11\}/,
    );
  });

  it('crash test: detects an inclusive cursor without dedupe keys', async () => {
    const keyless = ascending((item) => withoutKey(signalOf(item)));
    await expect(crashTest(keyless, options({ expected: undefined }))).rejects.toThrow(
      /^Second sync: 2 signals duplicated or unexpected.*have a dedupeKey/,
    );
  });

  /** Reads several pages per run, so that a run can crash after it stored an ETag. */
  const tagged = (tags: (context: SyncContext) => Map<string, string>) =>
    connector(async (context) => {
      const known = tags(context);
      const signals = [];
      for (let next: string | null = '1'; next; ) {
        const response: Response = await context.fetch(`http://provider.example/items?page=${next}`, {
          headers: { 'if-none-match': known.get(next) ?? '' },
        });
        if (response.status >= 400) throw new Error(`answered with ${response.status}`);
        if (response.status === 304) break;
        const data = page.parse(await response.json());
        known.set(next, response.headers.get('etag') ?? '');
        signals.push(...data.items.map(signalOf));
        next = data.next;
      }
      return { signals };
    });

  it('crash test: detects ETags kept outside the cursor per connection', async () => {
    const byConnection = new Map<string, Map<string, string>>();
    const wrong = tagged(({ connection: { id } }) => {
      const known = byConnection.get(id) ?? new Map();
      byConnection.set(id, known);
      return known;
    });
    await expect(crashTest(wrong, options({ later: undefined }))).rejects.toThrow(
      /^Stopped before request 2: \d+ signals lost/,
    );
  });

  it('crash test: detects state in a module variable', async () => {
    const shared = new Map<string, string>();
    await expect(
      crashTest(
        tagged(() => shared),
        options({ later: undefined }),
      ),
    ).rejects.toThrow(/^Another connection: 10 signals lost.*a module variable/);
  });

  it('crash test: detects process-local state if a factory creates the connector', async () => {
    const createForgetful = () => {
      let next = 0;
      return connector(() => {
        next += 5;
        return {
          signals: items()
            .slice(next - 5, next)
            .map((item) => withoutKey(signalOf(item))),
          nextCursor: next,
          hasMore: next < 10,
        };
      });
    };
    // One object shares its state between connections; a factory loses it after a crash.
    await expect(crashTest(createForgetful())).rejects.toThrow(/^Another connection: 10 signals lost/);
    await expect(crashTest(createForgetful)).rejects.toThrow(
      /^Stopped before storing page 2: 5 signals duplicated or unexpected/,
    );
  });

  it('crash test: detects a transient response treated as permanent', async () => {
    const wrong = connector(async (context) => {
      const response = await context.fetch('http://provider.example/items');
      if (!response.ok) throw new PermanentError(`answered with ${response.status}`);
      return { signals: page.parse(await response.json()).items.map(signalOf) };
    });
    await expect(
      crashTest(wrong, options({ expected: 3, later: undefined, faults: 'every' })),
    ).rejects.toThrow(
      /^Request 1 answered with 500: the sync failed and is not retried before its next interval \(permanent: answered with 500\)/,
    );
  });
});

describe('crash test: reproducing a failure', () => {
  const wrong = () => ascending((item) => withoutKey(signalOf(item)));
  it('crash test: keepGoing reports all problems', async () => {
    const report = await crashTest(
      wrong(),
      options({ keepGoing: true, expected: undefined, faults: 'none' }),
    );
    expect(report.problems.length).toBeGreaterThan(0);
    expect(formatCrashReport(report)).toMatch(/✗ Second sync: .*only: 'second sync', seed: 1\.$/m);
  });

  it('crash test: runs one round by name, and an unknown name lists examples', async () => {
    const crash = await crashTest(ascending(), options({ only: 'stopped after request 2' }));
    expect(crash).toMatchObject({ crashes: 1, faults: 0 });
    const fault = await crashTest(ascending(), options({ only: 'request 3 answered with half a body' }));
    expect(fault).toMatchObject({ crashes: 0, faults: 1 });
    const second = 'stopped after request 1, then before storing page 2';
    const twice = await crashTest(ascending(), options({ only: second }));
    expect(twice).toMatchObject({ crashes: 0, secondCrashes: 1 });
    await expect(crashTest(ascending(), options({ only: 'stopped' }))).rejects.toThrow(
      /No round "stopped" with seed 1; there are \d+, such as "stopped before request 1"/,
    );
  });

  it('crash test: maxRounds and seed select the rounds, and the report counts the rest', async () => {
    const rounds: string[][] = [];
    for (const seed of [7, 7, 8]) {
      const played: string[] = [];
      const onProgress = ({ round }: { round: string }) => played.push(round);
      const report = await crashTest(
        ascending(),
        options({ seed, maxRounds: 5, faults: 'none', onProgress }),
      );
      expect(report.left).toBeGreaterThan(0);
      rounds.push(played);
    }
    expect(rounds[0]).toHaveLength(6);
    expect(rounds[1]).toEqual(rounds[0]);
    expect(rounds[2]).not.toEqual(rounds[0]);
  });
});
