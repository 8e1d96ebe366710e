import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { http } from '../../../src/connectors/index.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { type ApiOptions, type Item, useJsonApis } from '../../support/providers/json-api.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();

const lists: fc.Arbitrary<ApiOptions> = fc.record({
  pagination: fc.constantFrom('link', 'link_pages', 'next_url', 'cursor', 'page', 'offset'),
  sort: fc.constantFrom('ascending', 'descending', 'none'),
  since: fc.constantFrom('inclusive', 'exclusive'),
  sinceAs: fc.constantFrom('iso', 'epoch_seconds', 'date'),
  pageSize: fc.integer({ min: 2, max: 9 }),
});
/** What happens while a request is answered. */
interface Event {
  what: string;
  which: number;
}
const event: fc.Arbitrary<Event> = fc.record({
  what: fc.constantFrom('edit', 'edit', 'add', 'remove', 'limit', 'nothing', 'nothing'),
  which: fc.nat(),
});

/**
 * Numbered pages of a list in which records move both ways cannot be walked for certain: one that moves up behind the page
 * that is read, and down again before the page before it is read once more, is on neither. The documentation says so.
 */
function possible({ pagination, sort }: ApiOptions, events: readonly Event[]): Event[] {
  const isNumbered = pagination === 'page' || pagination === 'offset' || pagination === 'link_pages';
  if (!isNumbered || sort === 'ascending') return [...events];
  const isShrinking = events[0]?.what === 'remove';
  return events.filter(({ what }) => (isShrinking ? what !== 'add' && what !== 'edit' : what !== 'remove'));
}

describe('http: a model of lists that change', () => {
  it('http: whatever happens during walks, in the end every item is stored in its last version, each version once', async () => {
    await fc.assert(
      fc.asyncProperty(
        lists,
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(event, { maxLength: 40 }),
        async (options, count, tied, events) => {
          const api = await startApi(options);
          api.fill(count, tied);
          const left = possible(options, events);
          api.before = () => {
            const { what, which } = left.shift() ?? { what: 'nothing', which: 0 };
            const item = api.items[which % Math.max(1, api.items.length)];
            if (what === 'add') api.add();
            if (what === 'edit' && item) api.edit(item.id);
            if (what === 'remove' && item) api.remove(item.id);
            return what === 'limit' ? { status: 429, headers: { 'retry-after': '0' } } : undefined;
          };
          const connection = connectInMemory(http(describeApi(api)));
          for (let runs = 0; left.length > 0 && runs < 100; runs++) await connection.run();
          const ended = await connection.sync();
          expect(ended.at(-1)).toMatchObject({ outcome: 'succeeded' });
          expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
          const stored = connection.signals.map(
            ({ payload }) => `${(payload as Item).id}.${(payload as Item).version}`,
          );
          expect(stored.length).toBe(new Set(stored).size);
          expect(
            api.items.map(({ id, version }) => `${id}.${version}`).filter((one) => !stored.includes(one)),
          ).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
