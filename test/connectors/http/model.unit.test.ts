import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { http } from '../../../src/connectors/index.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { type ApiOptions, type Item, useJsonApis } from '../../support/providers/json-api.ts';
import { sized } from '../../support/size.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();

const lists: fc.Arbitrary<ApiOptions> = fc.record({
  pagination: fc.constantFrom('link', 'link_pages', 'next_url', 'cursor', 'page', 'offset'),
  sort: fc.constantFrom('ascending', 'descending', 'none'),
  since: fc.constantFrom('inclusive', 'exclusive'),
  sinceAs: fc.constantFrom('iso', 'epoch_seconds', 'date'),
  pageSize: fc.integer({ min: 2, max: 9 }),
});
/** A change at the provider during a request. */
interface Event {
  action: string;
  which: number;
}
const event: fc.Arbitrary<Event> = fc.record({
  action: fc.constantFrom('edit', 'edit', 'add', 'remove', 'limit', 'nothing', 'nothing'),
  which: fc.nat(),
});

/**
 * Drops events that numbered pages cannot detect: a record that moves to an earlier page and back between two
 * requests is on neither page. This limit is documented.
 */
function detectable({ pagination, sort }: ApiOptions, events: readonly Event[]): Event[] {
  const isNumbered = pagination === 'page' || pagination === 'offset' || pagination === 'link_pages';
  if (!isNumbered || sort === 'ascending') return [...events];
  const isShrinking = events[0]?.action === 'remove';
  return events.filter(({ action }) =>
    isShrinking ? action !== 'add' && action !== 'edit' : action !== 'remove',
  );
}

describe('http: model of changing lists', () => {
  it('http: random changes during walks cause neither loss nor duplicates', async () => {
    await fc.assert(
      fc.asyncProperty(
        lists,
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(event, { maxLength: 40 }),
        async (options, count, tied, events) => {
          const api = await startApi(options);
          api.fill(count, tied);
          const pending = detectable(options, events);
          api.before = () => {
            const { action, which } = pending.shift() ?? { action: 'nothing', which: 0 };
            const item = api.items[which % Math.max(1, api.items.length)];
            if (action === 'add') api.add();
            if (action === 'edit' && item) api.edit(item.id);
            if (action === 'remove' && item) api.remove(item.id);
            return action === 'limit' ? { status: 429, headers: { 'retry-after': '0' } } : undefined;
          };
          const connection = connectInMemory(http(describeApi(api)));
          for (let runs = 0; pending.length > 0 && runs < 100; runs++) await connection.run();
          const ended = await connection.sync();
          expect(ended.at(-1)).toMatchObject({ outcome: 'succeeded' });
          expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
          const stored = connection.signals.map(
            ({ payload }) => `${(payload as Item).id}.${(payload as Item).version}`,
          );
          expect(stored.length).toBe(new Set(stored).size);
          expect(
            api.items
              .map(({ id, version }) => `${id}.${version}`)
              .filter((version) => !stored.includes(version)),
          ).toEqual([]);
        },
      ),
      { numRuns: sized(60, 15) },
    );
  });
});
