import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AscendingCursor,
  ascend,
  type DescendingCursor,
  descend,
  lookback,
} from '../../src/connector-kit/index.ts';

/** An item of a provider's list; its time of change has a resolution of one second. */
interface Item {
  id: number;
  at: number;
  version: number;
}
const startSeconds = 1_772_442_000;
const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
const secondsOf = (text: string | undefined) => (text === undefined ? 0 : Date.parse(text) / 1000);

interface Change {
  kind: 'edit' | 'remove' | 'add';
  which: number;
  /** Seconds the clock advances before the change. */
  after: number;
}
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('edit', 'edit', 'edit', 'remove', 'add'),
  which: fc.nat(1000),
  after: fc.constantFrom(0, 0, 0, 1, 5),
});
/** Few distinct times, so that whole pages share one. */
const ages = fc.array(fc.constantFrom(1, 1, 1, 1, 2, 3, 50), { maxLength: 40 });
/** Changes after each request; some batches exceed a page. */
const changesPerRequest = fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 30 });

function model(agesOfItems: readonly number[]) {
  let now = startSeconds;
  let nextId = 0;
  let items: Item[] = agesOfItems.map((age) => ({ id: nextId++, at: startSeconds - age, version: 0 }));
  return {
    get items() {
      return items;
    },
    apply(changes: readonly Change[] = []): void {
      for (const { kind, which, after } of changes) {
        now += after;
        const target = items[which % Math.max(1, items.length)];
        if (kind === 'add') items.push({ id: nextId++, at: now, version: 0 });
        else if (target && kind === 'remove') items = items.filter((item) => item !== target);
        else if (target) {
          items = items.filter((item) => item !== target);
          items.push({ ...target, at: now, version: target.version + 1 });
        }
      }
    },
    ascending: (since: string | undefined) =>
      items.filter(({ at }) => at >= secondsOf(since)).sort((a, b) => a.at - b.at || a.id - b.id),
    descending: () => [...items].sort((a, b) => b.at - a.at || b.id - a.id),
  };
}

const keyOf = ({ id, version }: Item) => `${id}.${version}`;
const pageSize = 3;

describe('walks', () => {
  it('kit: ascend loses no item when items change between requests and runs crash', () => {
    fc.assert(
      fc.property(
        ages,
        changesPerRequest,
        fc.array(fc.boolean(), { maxLength: 30 }),
        (agesOfItems, changes, crashes) => {
          const list = model(agesOfItems);
          const stored = new Set<string>();
          let cursor: AscendingCursor = {};
          let walkStart = 0;
          for (let request = 0; ; request++) {
            const { page = 1, since } = cursor;
            const all = list.ascending(since);
            const found = all.slice((page - 1) * pageSize, page * pageSize);
            const isFull = all.length > page * pageSize;
            list.apply(changes[request]);
            // Crash before the page was stored; read it again.
            if (crashes[request]) continue;
            for (const item of found) stored.add(keyOf(item));
            const next = ascend(cursor, { times: found.map(({ at }) => iso(at)), isFull });
            cursor = JSON.parse(JSON.stringify(next.cursor));
            // The next walk finds items that changed behind this one.
            if (!next.hasMore && walkStart >= changes.length) break;
            if (!next.hasMore) walkStart = request + 1;
            if (request > 2000) throw new Error('the walk does not end');
          }
          expect(list.items.map(keyOf).filter((key) => !stored.has(key))).toEqual([]);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('kit: ascend requests a page number only if one timestamp fills a page', () => {
    const list = model(Array.from({ length: 40 }, (_, i) => 100 - i));
    let cursor: AscendingCursor = {};
    let requests = 0;
    for (let hasMore = true; hasMore; requests++) {
      expect(cursor.page).toBeUndefined();
      const all = list.ascending(cursor.since);
      const times = all.slice(0, pageSize).map(({ at }) => iso(at));
      ({ cursor, hasMore } = ascend(cursor, { times, isFull: all.length > pageSize }));
    }
    // Each page has two new items of three.
    expect(requests).toBe(20);
    expect(cursor).toEqual({ since: iso(startSeconds - 61) });
  });

  it('kit: an empty list does not change the cursor of an ascending walk', () => {
    const nothing = { times: [], isFull: false };
    expect(ascend({}, nothing)).toEqual({ cursor: {}, hasMore: false });
    expect(ascend({ since: iso(1) }, nothing)).toEqual({ cursor: { since: iso(1) }, hasMore: false });
    expect(ascend({ page: 2 }, nothing)).toEqual({ cursor: {}, hasMore: false });
  });

  it('kit: descend loses no item when items change between requests and runs crash', () => {
    // Without removals: they shift later items to earlier pages, which newest-first lists cannot detect.
    const edits = changesPerRequest.map((rounds) =>
      rounds.map((round) => round.filter(({ kind }) => kind !== 'remove')),
    );
    fc.assert(
      fc.property(ages, edits, fc.array(fc.boolean(), { maxLength: 30 }), (agesOfItems, changes, crashes) => {
        const list = model(agesOfItems);
        const stored = new Set<string>();
        let cursor: DescendingCursor = {};
        let walkStart = 0;
        for (let request = 0; ; request++) {
          const page = Number(cursor.walk?.page ?? 1);
          const all = list.descending();
          const found = all.slice((page - 1) * pageSize, page * pageSize);
          list.apply(changes[request]);
          if (crashes[request]) continue;
          for (const item of found) stored.add(keyOf(item));
          const reachedWatermark = found.some(({ at }) => at < secondsOf(cursor.watermark));
          const [newest] = found;
          const next = descend(cursor, {
            newest: newest && iso(newest.at),
            nextPage: reachedWatermark || all.length <= page * pageSize ? undefined : String(page + 1),
          });
          cursor = JSON.parse(JSON.stringify(next.cursor));
          if (!next.hasMore && walkStart >= changes.length) break;
          if (!next.hasMore) walkStart = request + 1;
          if (request > 5000) throw new Error('the walk does not end');
        }
        expect(list.items.map(keyOf).filter((key) => !stored.has(key))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('kit: the watermark advances only at the end of the walk', () => {
    const first = descend({ watermark: iso(1) }, { newest: iso(9), nextPage: '2' });
    expect(first).toEqual({
      cursor: { watermark: iso(1), walk: { page: '2', newest: iso(9) } },
      hasMore: true,
    });
    expect(descend(first.cursor, { newest: iso(5), nextPage: undefined })).toEqual({
      cursor: { watermark: iso(9) },
      hasMore: false,
    });
    const nothing = { newest: undefined, nextPage: undefined };
    expect(descend({ watermark: iso(1) }, nothing).cursor).toEqual({ watermark: iso(1) });
    expect(descend({}, nothing).cursor).toEqual({});
  });

  it('kit: lookback subtracts seconds from the query time', () => {
    expect(lookback('2026-03-02T09:00:00Z', 60)).toBe('2026-03-02T08:59:00.000Z');
    expect(lookback('2026-03-02T09:00:00Z', 0)).toBe('2026-03-02T09:00:00Z');
    expect(lookback(undefined, 60)).toBeUndefined();
  });
});
