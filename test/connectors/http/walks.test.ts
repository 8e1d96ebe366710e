import { describe, expect, it } from 'vitest';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { connectInMemory, crashTest, type MemoryConnection } from '../../../src/testing/index.ts';
import { type ApiOptions, type Item, type JsonApi, useJsonApis } from '../../support/providers/json-api.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();
const versionOf = (payload: unknown) => {
  const { id, version } = payload as Item;
  return `${id}.${version}`;
};
const versionsIn = ({ signals }: MemoryConnection) => signals.map(({ payload }) => versionOf(payload));

/** Against the provider's own truth: every item in its last version, and nothing twice. */
function expectAll(connection: MemoryConnection, { items }: JsonApi): void {
  const stored = versionsIn(connection);
  expect(stored.length, 'doubled').toBe(new Set(stored).size);
  expect(
    items.filter((item) => !stored.includes(versionOf(item))).map(({ id }) => id),
    'lost',
  ).toEqual([]);
}

async function synced(connection: MemoryConnection): Promise<void> {
  const runs = await connection.sync();
  const failed = runs.find(({ outcome }) => outcome !== 'succeeded');
  if (failed) throw new Error(`${failed.outcome}: ${failed.error?.message}`);
}

const paginations = ['link', 'link_pages', 'next_url', 'cursor', 'page', 'offset'] as const;
const styles: [string, ApiOptions][] = paginations.flatMap((pagination) => [
  [`${pagination}, oldest first, since inclusive`, { pagination }],
  [`${pagination}, oldest first, since exclusive`, { pagination, since: 'exclusive' }],
  [
    `${pagination}, oldest first, since in seconds`,
    { pagination, since: 'exclusive', sinceAs: 'epoch_seconds' },
  ],
  [`${pagination}, oldest first, since a day`, { pagination, sinceAs: 'date' }],
  [`${pagination}, newest first, no since`, { pagination, sort: 'descending', since: 'unknown' }],
  [`${pagination}, newest first, since inclusive`, { pagination, sort: 'descending' }],
  [`${pagination}, in no order, since inclusive`, { pagination, sort: 'none' }],
  [`${pagination}, in no order, since exclusive`, { pagination, sort: 'none', since: 'exclusive' }],
]);
const all: [string, ApiOptions][] = [
  ...styles,
  ['one answer for all', { pagination: 'none' }],
  ['one answer for all, newest first', { pagination: 'none', sort: 'descending', since: 'unknown' }],
];

/** Every kind of pagination; the other orders for one whose pages stay, and for one whose pages shift. */
const stopped = styles.filter(([name]) =>
  /oldest first, since inclusive|^(cursor|page), (newest first, no since|in no order, since inclusive)/.test(
    name,
  ),
);
/** Each wrong answer costs a pause. What becomes of one differs by whether the page is a token, an address or a number. */
const faultsOf = ({ pagination, sort }: ApiOptions) =>
  sort === undefined && ['cursor', 'next_url', 'page'].includes(pagination) ? 'sample' : 'none';

describe('http: lists are walked completely', () => {
  it.each(all)('http: nothing is lost or doubled, first and later: %s', async (_name, options) => {
    const api = await startApi(options);
    api.fill(57, 3);
    const connection = connectInMemory(http(describeApi(api)));
    await synced(connection);
    expectAll(connection, api);
    expect(connection.signals).toHaveLength(57);
    for (const id of [1, 20, 57]) api.edit(id);
    api.edit(5, { deleted: true });
    api.add();
    // As old as the newest that was seen: an exclusive boundary would leave it out.
    Object.assign(api.add(), { updated_at: api.items.find(({ id }) => id === 5)?.updated_at });
    await synced(connection);
    expectAll(connection, api);
    expect(connection.signals).toHaveLength(63);
    expect(connection.signals.filter(({ kind }) => kind === 'item.open.deleted')).toHaveLength(1);
    await synced(connection);
    expect(connection.signals).toHaveLength(63);
  });

  it.each(styles)(
    'http: items that change during the walk are not lost, nor are their neighbours: %s',
    async (_name, options) => {
      const api = await startApi(options);
      api.fill(95, 4);
      const connection = connectInMemory(http(describeApi(api)));
      const removed = new Set<number>();
      const { pagination, sort = 'ascending' } = options;
      api.before = (n) => {
        if (n > 30) return undefined;
        api.edit(api.items[(n * 13) % api.items.length]?.id ?? 0);
        if (n % 3 === 0) api.add();
        const gone = api.items[(n * 7) % 10]?.id;
        if (n % 2 === 0 && gone !== undefined) {
          api.remove(gone);
          removed.add(gone);
        }
        return undefined;
      };
      await synced(connection);
      api.before = () => undefined;
      await synced(connection);
      expect(removed.size, `${pagination} ${sort}`).toBeGreaterThan(0);
      expectAll(connection, api);
    },
  );

  it.each(stopped)('http: a walk that is stopped anywhere stores the same: %s', async (_name, options) => {
    const api = await startApi(options);
    api.fill(23, 11);
    const report = await crashTest(http(describeApi(api)), { faults: faultsOf(options) });
    expect(report.signals).toBe(23);
    expect(report.crashes).toBeGreaterThan(report.requests);
  });

  it.each(['cursor', 'page', 'offset'] as const)(
    'http: parameters in the body are sent there: %s',
    async (pagination) => {
      const api = await startApi({ pagination, method: 'POST' });
      api.fill(25);
      const description = describeApi(api);
      const { items } = description.streams;
      if (!items?.pagination || !items.cursor || !('parameter' in items.pagination))
        throw new Error('not described');
      items.request = { path: '/items', method: 'POST', json: { since: '{cursor}' } };
      items.pagination = { ...items.pagination, in: 'json' };
      const { parameter: _query, ...cursor } = items.cursor;
      items.cursor = cursor;
      const connection = connectInMemory(http(description));
      await synced(connection);
      api.edit(3);
      await synced(connection);
      expectAll(connection, api);
      expect(api.requests[0]).toMatch(pagination === 'cursor' ? /^\/v1\/items \{\}$/ : /^\/v1\/items \{"/);
    },
  );

  it('http: ten thousand items are all there, in a request per page', async () => {
    const api = await startApi({ pagination: 'cursor', pageSize: 500 });
    api.fill(10_000, 7);
    const connection = connectInMemory(http(describeApi(api)));
    await synced(connection);
    expect(new Set(versionsIn(connection)).size).toBe(10_000);
    expect(api.requests.length).toBeLessThan(30);
  });

  it('http: more items of one time than fit on a page are paged through', async () => {
    for (const pagination of paginations) {
      const api = await startApi({ pagination });
      api.fill(57, 57);
      const connection = connectInMemory(http(describeApi(api)));
      await synced(connection);
      expectAll(connection, api);
    }
  });

  it('http: the watermark of a list that comes newest first moves at the end of the walk, not before', async () => {
    const api = await startApi({ pagination: 'cursor', sort: 'descending', since: 'unknown' });
    api.fill(30);
    const connection = connectInMemory(http(describeApi(api)));
    api.before = (n) => (n === 2 ? { status: 429, headers: { 'retry-after': '1' } } : undefined);
    await connection.run();
    expect(connection.cursor).not.toHaveProperty('streams.items.watermark');
    expect(connection.cursor).toHaveProperty('streams.items.walk.reached', '2025-01-01T00:00:29.000Z');
    await synced(connection);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:29.000Z');
    expectAll(connection, api);
  });

  it('http: a lookback shifts the query, and the watermark stays where it is', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description = describeApi(api);
    Object.assign(description.streams['items']?.cursor ?? {}, { lookbackSeconds: 5 });
    const connection = connectInMemory(http(description));
    await synced(connection);
    // Appears late, with an older time.
    Object.assign(api.add(), { updated_at: '2025-01-01T00:00:15Z' });
    await synced(connection);
    expect(api.requests.at(-1)).toContain(`since=${encodeURIComponent('2025-01-01T00:00:14.000Z')}`);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:19.000Z');
    expectAll(connection, api);
  });

  it('http: a good watermark is never replaced by an empty one, nor by one that lies ahead', async () => {
    const api = await startApi({ pagination: 'page' });
    api.fill(5);
    const connection = connectInMemory(http(describeApi(api)));
    await synced(connection);
    api.before = () => ({ status: 200, body: { data: { items: [] } } });
    await synced(connection);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:04.000Z');
    api.before = () => undefined;
    api.edit(1, { updated_at: '2999-01-01T00:00:00Z' });
    await synced(connection);
    const watermark = (connection.cursor as { streams: { items: { watermark: string } } }).streams.items
      .watermark;
    expect(Date.parse(watermark)).toBeLessThanOrEqual(Date.now());
    expectAll(connection, api);
  });

  it('http: the first walk begins where the description says', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description = describeApi(api);
    Object.assign(description.streams['items']?.cursor ?? {}, { start: '2025-01-01T00:00:10Z' });
    const connection = connectInMemory(http(description));
    await synced(connection);
    expect(connection.signals).toHaveLength(10);
  });

  it('http: another config is another list, and is read from its beginning', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description: HttpDescription = { ...describeApi(api), config: { since: 'string' } };
    const connector = http(description);
    const one = connectInMemory(connector, { config: { since: 'a' } });
    await synced(one);
    const asked = api.requests.length;
    const other = connectInMemory(connector, { config: { since: 'b' }, cursor: one.cursor });
    await synced(other);
    expect(other.signals).toHaveLength(20);
    expect(api.requests[asked]).toBe('/v1/items');
  });

  it('http: what has not changed is asked for with its tag, and costs nothing', async () => {
    const api = await startApi({ pagination: 'cursor', etags: true, token: 'the-token' });
    api.fill(15);
    const settled: boolean[] = [];
    const budgets = {
      take: async () => ({ settle: ({ free = false } = {}) => void settled.push(free) }),
      learn: () => {},
    };
    const description: HttpDescription = {
      ...describeApi(api),
      budgets: [{ name: 'core', per: 'credential', limit: 100, perSeconds: 60 }],
    };
    const connection = connectInMemory(http(description), {
      budgets,
      credential: { type: 'api_key', key: 'the-token' },
    });
    await synced(connection);
    await synced(connection);
    await synced(connection);
    expect(settled.at(-1)).toBe(true);
    api.edit(2);
    await synced(connection);
    expectAll(connection, api);
  });

  it('http: a tag of the first page never hides the pages behind it', async () => {
    for (const sort of ['ascending', 'descending', 'none'] as const) {
      const api = await startApi({
        pagination: 'page',
        sort,
        since: sort === 'descending' ? 'unknown' : 'inclusive',
        etags: true,
      });
      api.fill(40);
      const connection = connectInMemory(http(describeApi(api)));
      api.before = (n) => (n === 3 ? { status: 400, body: { error: 'bad page' } } : undefined);
      await connection.sync();
      api.before = () => undefined;
      for (let i = 0; i < 3; i++) await synced(connection);
      expectAll(connection, api);
    }
  });

  it('http: an unchanged first page says nothing of the others where the list has no order', async () => {
    const api = await startApi({ pagination: 'page', sort: 'none', etags: true });
    api.fill(40);
    const description = describeApi(api);
    const { items } = description.streams;
    delete items?.cursor;
    Object.assign(items?.signal ?? {}, { occurredAt: 'updated_at' });
    const connection = connectInMemory(http(description));
    await synced(connection);
    for (const { id } of api.items.slice(0, 5)) {
      api.edit(id, { updated_at: '2025-06-01T00:00:00Z' });
      await synced(connection);
      expectAll(connection, api);
    }
  });

  it('http: a walk that starts anew does not trust the tag of the page it had begun with', async () => {
    const api = await startApi({ pagination: 'cursor', sort: 'descending', since: 'unknown', etags: true });
    api.fill(40);
    const connection = connectInMemory(http(describeApi(api)));
    api.before = (n) => (n === 2 ? { status: 429, headers: { 'retry-after': '1' } } : undefined);
    await connection.run();
    expect(connection.signals).toHaveLength(10);
    api.before = (n) => (n === 3 ? { status: 400, body: { error: 'token' } } : undefined);
    await synced(connection);
    expectAll(connection, api);
  });

  it('http: a list that comes newest first is read back to the watermark, and no further', async () => {
    for (const pagination of paginations) {
      const api = await startApi({ pagination, sort: 'descending', since: 'unknown' });
      api.fill(95);
      const connection = connectInMemory(http(describeApi(api)));
      await synced(connection);
      const before = api.requests.length;
      api.edit(40);
      await synced(connection);
      expect(api.requests.length - before).toBe(1);
      expectAll(connection, api);
    }
  });
});
