import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AscendingCursor,
  ascend,
  type DescendingCursor,
  descend,
  lookback,
} from '../../src/connector-kit/index.ts';

/** A list at a provider: items with a time of change in whole seconds, of which any may change at any time. */
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
  /** How far the clock moves before it. */
  after: number;
}
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('edit', 'edit', 'edit', 'remove', 'add'),
  which: fc.nat(1000),
  after: fc.constantFrom(0, 0, 0, 1, 5),
});
/** Few different times, so that pages of one time are common. */
const ages = fc.array(fc.constantFrom(1, 1, 1, 1, 2, 3, 50), { maxLength: 40 });
/** What happens after each request; some of it is more than a page. */
const happenings = fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 30 });

function model(agesOfItems: readonly number[]) {
  let now = startSeconds;
  let nextId = 0;
  let items: Item[] = agesOfItems.map((age) => ({ id: nextId++, at: startSeconds - age, version: 0 }));
  return {
    get items() {
      return items;
    },
    happen(changes: readonly Change[] = []): void {
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
  it('kit: ascend loses nothing, whatever changes between two requests and wherever it is interrupted', () => {
    fc.assert(
      fc.property(
        ages,
        happenings,
        fc.array(fc.boolean(), { maxLength: 30 }),
        (agesOfItems, changes, lost) => {
          const list = model(agesOfItems);
          const stored = new Set<string>();
          let cursor: AscendingCursor = {};
          let begunAt = 0;
          for (let request = 0; ; request++) {
            const { page = 1, since } = cursor;
            const all = list.ascending(since);
            const found = all.slice((page - 1) * pageSize, page * pageSize);
            const isFull = all.length > page * pageSize;
            list.happen(changes[request]);
            // The process died before the page was stored: it is read again.
            if (lost[request]) continue;
            for (const item of found) stored.add(keyOf(item));
            const next = ascend(cursor, { times: found.map(({ at }) => iso(at)), isFull });
            cursor = JSON.parse(JSON.stringify(next.cursor));
            // What changes behind a walk is found by the next one.
            if (!next.hasMore && begunAt >= changes.length) break;
            if (!next.hasMore) begunAt = request + 1;
            if (request > 2000) throw new Error('the walk does not end');
          }
          expect(list.items.map(keyOf).filter((key) => !stored.has(key))).toEqual([]);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('kit: ascend asks for a page again only where one time fills it', () => {
    const list = model(Array.from({ length: 40 }, (_, i) => 100 - i));
    let cursor: AscendingCursor = {};
    let requests = 0;
    for (let hasMore = true; hasMore; requests++) {
      expect(cursor.page).toBeUndefined();
      const all = list.ascending(cursor.since);
      const times = all.slice(0, pageSize).map(({ at }) => iso(at));
      ({ cursor, hasMore } = ascend(cursor, { times, isFull: all.length > pageSize }));
    }
    // Two of three are new on each page.
    expect(requests).toBe(20);
    expect(cursor).toEqual({ since: iso(startSeconds - 61) });
  });

  it('kit: a list without items leaves the cursor of an ascending walk as it is', () => {
    const nothing = { times: [], isFull: false };
    expect(ascend({}, nothing)).toEqual({ cursor: {}, hasMore: false });
    expect(ascend({ since: iso(1) }, nothing)).toEqual({ cursor: { since: iso(1) }, hasMore: false });
    expect(ascend({ page: 2 }, nothing)).toEqual({ cursor: {}, hasMore: false });
  });

  it('kit: descend loses nothing, whatever changes between two requests and wherever it is interrupted', () => {
    // Nothing is removed here: that moves others up, and a list that comes newest first has no defence against it.
    const edits = happenings.map((rounds) =>
      rounds.map((round) => round.filter(({ kind }) => kind !== 'remove')),
    );
    fc.assert(
      fc.property(ages, edits, fc.array(fc.boolean(), { maxLength: 30 }), (agesOfItems, changes, lost) => {
        const list = model(agesOfItems);
        const stored = new Set<string>();
        let cursor: DescendingCursor = {};
        let begunAt = 0;
        for (let request = 0; ; request++) {
          const page = Number(cursor.walk?.page ?? 1);
          const all = list.descending();
          const found = all.slice((page - 1) * pageSize, page * pageSize);
          list.happen(changes[request]);
          if (lost[request]) continue;
          for (const item of found) stored.add(keyOf(item));
          const isThere = found.some(({ at }) => at < secondsOf(cursor.watermark));
          const [newest] = found;
          const next = descend(cursor, {
            newest: newest && iso(newest.at),
            nextPage: isThere || all.length <= page * pageSize ? undefined : String(page + 1),
          });
          cursor = JSON.parse(JSON.stringify(next.cursor));
          if (!next.hasMore && begunAt >= changes.length) break;
          if (!next.hasMore) begunAt = request + 1;
          if (request > 5000) throw new Error('the walk does not end');
        }
        expect(list.items.map(keyOf).filter((key) => !stored.has(key))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('kit: the watermark moves when the walk has come to its end, and not before', () => {
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

  it('kit: a look back moves the query', () => {
    expect(lookback('2026-03-02T09:00:00Z', 60)).toBe('2026-03-02T08:59:00.000Z');
    expect(lookback('2026-03-02T09:00:00Z', 0)).toBe('2026-03-02T09:00:00Z');
    expect(lookback(undefined, 60)).toBeUndefined();
  });
});
