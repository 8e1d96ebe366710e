import { describe, expect, it } from 'vitest';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { connectInMemory, crashTest, type MemoryConnection } from '../../../src/testing/index.ts';
import { type ApiOptions, type Item, type JsonApi, useJsonApis } from '../../support/providers/json-api.ts';
import { sampled, sized } from '../../support/size.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();
const versionOf = (payload: unknown) => {
  const { id, version } = payload as Item;
  return `${id}.${version}`;
};
const versionsIn = ({ signals }: MemoryConnection) => signals.map(({ payload }) => versionOf(payload));

/** Expects every item's last version to be stored, without duplicates. */
function expectAll(connection: MemoryConnection, { items }: JsonApi): void {
  const stored = versionsIn(connection);
  expect(stored.length, 'doubled').toBe(new Set(stored).size);
  expect(
    items.filter((item) => !stored.includes(versionOf(item))).map(({ id }) => id),
    'lost',
  ).toEqual([]);
}

async function syncFully(connection: MemoryConnection): Promise<void> {
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
const apiStyles: [string, ApiOptions][] = [
  ...styles,
  ['one answer for all', { pagination: 'none' }],
  ['one answer for all, newest first', { pagination: 'none', sort: 'descending', since: 'unknown' }],
];

/** Every pagination; the other orders only for stable pages (cursor) and shifting pages (page). */
const crashStyles = styles.filter(([name]) =>
  /oldest first, since inclusive|^(cursor|page), (newest first, no since|in no order, since inclusive)/.test(
    name,
  ),
);
/** Each fault costs a pause; its handling differs only by page token, URL and page number. */
const faultsOf = ({ pagination, sort }: ApiOptions) =>
  sort === undefined && ['cursor', 'next_url', 'page'].includes(pagination) ? 'sample' : 'none';

describe('http: complete walks', () => {
  it.each(apiStyles)(
    'http: first and later syncs cause neither loss nor duplicates: %s',
    async (_name, options) => {
      const api = await startApi(options);
      api.fill(57, 3);
      const connection = connectInMemory(http(describeApi(api)));
      await syncFully(connection);
      expectAll(connection, api);
      expect(connection.signals).toHaveLength(57);
      for (const id of [1, 20, 57]) api.edit(id);
      api.edit(5, { deleted: true });
      api.add();
      // Equal to the watermark: an exclusive boundary would skip it.
      Object.assign(api.add(), { updated_at: api.items.find(({ id }) => id === 5)?.updated_at });
      await syncFully(connection);
      expectAll(connection, api);
      expect(connection.signals).toHaveLength(63);
      expect(connection.signals.filter(({ kind }) => kind === 'item.open.deleted')).toHaveLength(1);
      await syncFully(connection);
      expect(connection.signals).toHaveLength(63);
    },
  );

  it.each(styles)(
    'http: items that change during the walk are found, and so are their neighbors: %s',
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
      await syncFully(connection);
      api.before = () => undefined;
      await syncFully(connection);
      expect(removed.size, `${pagination} ${sort}`).toBeGreaterThan(0);
      expectAll(connection, api);
    },
  );

  it.each(sampled(crashStyles, 2))(
    'http: a crash at any point of a walk stores the same signals: %s',
    async (_name, options) => {
      const api = await startApi(options);
      api.fill(23, 11);
      const report = await crashTest(http(describeApi(api)), {
        faults: faultsOf(options),
        secondCrashes: sized(20, 3),
      });
      expect(report.signals).toBe(23);
      expect(report.crashes).toBeGreaterThan(report.requests);
    },
  );

  it.each(['cursor', 'page', 'offset'] as const)(
    'http: sends parameters in the JSON body: %s',
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
      await syncFully(connection);
      api.edit(3);
      await syncFully(connection);
      expectAll(connection, api);
      expect(api.requests[0]).toMatch(pagination === 'cursor' ? /^\/v1\/items \{\}$/ : /^\/v1\/items \{"/);
    },
  );

  it('http: stores thousands of items with one request per page', async () => {
    const many = sized(10_000, 2000);
    const api = await startApi({ pagination: 'cursor', pageSize: 500 });
    api.fill(many, 7);
    const connection = connectInMemory(http(describeApi(api)));
    await syncFully(connection);
    expect(new Set(versionsIn(connection)).size).toBe(many);
    expect(api.requests.length).toBeLessThan((many / 500) * 1.5);
  });

  it('http: pages through more items of one timestamp than fit on a page', async () => {
    for (const pagination of paginations) {
      const api = await startApi({ pagination });
      api.fill(57, 57);
      const connection = connectInMemory(http(describeApi(api)));
      await syncFully(connection);
      expectAll(connection, api);
    }
  });

  it('http: with newest-first order, the watermark advances only at the end of the walk', async () => {
    const api = await startApi({ pagination: 'cursor', sort: 'descending', since: 'unknown' });
    api.fill(30);
    const connection = connectInMemory(http(describeApi(api)));
    api.before = (n) => (n === 2 ? { status: 429, headers: { 'retry-after': '1' } } : undefined);
    await connection.run();
    expect(connection.cursor).not.toHaveProperty('streams.items.watermark');
    expect(connection.cursor).toHaveProperty('streams.items.walk.reached', '2025-01-01T00:00:29.000Z');
    await syncFully(connection);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:29.000Z');
    expectAll(connection, api);
  });

  it('http: lookbackSeconds shifts the query, not the watermark', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description = describeApi(api);
    Object.assign(description.streams['items']?.cursor ?? {}, { lookbackSeconds: 5 });
    const connection = connectInMemory(http(description));
    await syncFully(connection);
    // Becomes visible late, with an older time.
    Object.assign(api.add(), { updated_at: '2025-01-01T00:00:15Z' });
    await syncFully(connection);
    expect(api.requests.at(-1)).toContain(`since=${encodeURIComponent('2025-01-01T00:00:14.000Z')}`);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:19.000Z');
    expectAll(connection, api);
  });

  it('http: the watermark is replaced neither by an empty page nor by a time in the future', async () => {
    const api = await startApi({ pagination: 'page' });
    api.fill(5);
    const connection = connectInMemory(http(describeApi(api)));
    await syncFully(connection);
    api.before = () => ({ status: 200, body: { data: { items: [] } } });
    await syncFully(connection);
    expect(connection.cursor).toHaveProperty('streams.items.watermark', '2025-01-01T00:00:04.000Z');
    api.before = () => undefined;
    api.edit(1, { updated_at: '2999-01-01T00:00:00Z' });
    await syncFully(connection);
    const watermark = (connection.cursor as { streams: { items: { watermark: string } } }).streams.items
      .watermark;
    expect(Date.parse(watermark)).toBeLessThanOrEqual(Date.now());
    expectAll(connection, api);
  });

  it('http: the first walk starts at cursor.start', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description = describeApi(api);
    Object.assign(description.streams['items']?.cursor ?? {}, { start: '2025-01-01T00:00:10Z' });
    const connection = connectInMemory(http(description));
    await syncFully(connection);
    expect(connection.signals).toHaveLength(10);
  });

  it('http: a changed config restarts from the beginning', async () => {
    const api = await startApi({ pagination: 'cursor' });
    api.fill(20);
    const description: HttpDescription = { ...describeApi(api), config: { since: 'string' } };
    const connector = http(description);
    const first = connectInMemory(connector, { config: { since: 'a' } });
    await syncFully(first);
    const requestsBefore = api.requests.length;
    const other = connectInMemory(connector, { config: { since: 'b' }, cursor: first.cursor });
    await syncFully(other);
    expect(other.signals).toHaveLength(20);
    expect(api.requests[requestsBefore]).toBe('/v1/items');
  });

  it('http: an unchanged page is requested with its ETag and settles as free', async () => {
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
    await syncFully(connection);
    await syncFully(connection);
    await syncFully(connection);
    expect(settled.at(-1)).toBe(true);
    api.edit(2);
    await syncFully(connection);
    expectAll(connection, api);
  });

  it('http: an ETag of the first page does not hide later pages after an error', async () => {
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
      for (let i = 0; i < 3; i++) await syncFully(connection);
      expectAll(connection, api);
    }
  });

  it('http: without order, an unchanged first page does not end the walk', async () => {
    const api = await startApi({ pagination: 'page', sort: 'none', etags: true });
    api.fill(40);
    const description = describeApi(api);
    const { items } = description.streams;
    delete items?.cursor;
    Object.assign(items?.signal ?? {}, { occurredAt: 'updated_at' });
    const connection = connectInMemory(http(description));
    await syncFully(connection);
    for (const { id } of api.items.slice(0, 5)) {
      api.edit(id, { updated_at: '2025-06-01T00:00:00Z' });
      await syncFully(connection);
      expectAll(connection, api);
    }
  });

  it('http: a restarted walk ignores the ETag of its first page', async () => {
    const api = await startApi({ pagination: 'cursor', sort: 'descending', since: 'unknown', etags: true });
    api.fill(40);
    const connection = connectInMemory(http(describeApi(api)));
    api.before = (n) => (n === 2 ? { status: 429, headers: { 'retry-after': '1' } } : undefined);
    await connection.run();
    expect(connection.signals).toHaveLength(10);
    api.before = (n) => (n === 3 ? { status: 400, body: { error: 'token' } } : undefined);
    await syncFully(connection);
    expectAll(connection, api);
  });

  it('http: with newest-first order, reads back to the watermark and no further', async () => {
    for (const pagination of paginations) {
      const api = await startApi({ pagination, sort: 'descending', since: 'unknown' });
      api.fill(95);
      const connection = connectInMemory(http(describeApi(api)));
      await syncFully(connection);
      const before = api.requests.length;
      api.edit(40);
      await syncFully(connection);
      expect(api.requests.length - before).toBe(1);
      expectAll(connection, api);
    }
  });
});
