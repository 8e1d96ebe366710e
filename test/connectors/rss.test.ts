import { describe, expect, it } from 'vitest';
import { type RssOptions, rss } from '../../src/connectors/index.ts';
import { parseDate } from '../../src/connectors/rss/dates.ts';
import { readFeed } from '../../src/connectors/rss/feed.ts';
import { connectInMemory, crashTest, type MemorySignal } from '../../src/testing/index.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { type Format, type Post, post, posts, startFeeds } from '../support/providers/feeds.ts';
import { sized } from '../support/size.ts';
import { connectToEngine } from './engine.ts';

const database = useDatabase();

async function startSite(options: RssOptions = {}) {
  const feeds = await startFeeds();
  const connector = rss({ network: 'any', ...options });
  const { log, lines } = recordingLogger();
  const connect = (...paths: string[]) =>
    connectInMemory(connector, { log, config: { urls: paths.map((path) => `${feeds.url}${path}`) } });
  return { feeds, connector, connect, lines };
}

const titles = (signals: readonly MemorySignal[]) =>
  signals.map(({ payload }) => (payload as { title: string }).title);
const kinds = (signals: readonly MemorySignal[]) => signals.map(({ kind }) => kind);
const oldestFirst = (all: readonly Post[]) => [...all].reverse().map(({ title }) => title);

describe('rss', () => {
  it.each<Format>(['rss', 'rdf', 'atom', 'json'])(
    'rss: %s items are stored once, oldest first; later syncs store only new items',
    async (format) => {
      const { feeds, connect } = await startSite();
      feeds.publish('/feed', posts(5), format);
      const connection = connect('/feed');
      await connection.sync();
      expect(titles(connection.signals)).toEqual(oldestFirst(posts(5)));
      expect(connection.signals[0]).toMatchObject({
        kind: 'item.published',
        occurredAt: post(0).published.toISOString(),
        payload: { feed: { title: 'A site' }, id: post(0).guid, url: `${feeds.url}/${post(0).guid}` },
      });
      feeds.publish('/feed', posts(7), format);
      const [ended] = await connection.sync();
      expect([ended?.stored, ended?.absorbed]).toEqual([2, 0]);
      expect(titles(connection.signals)).toEqual(oldestFirst(posts(7)));
    },
  );

  it('rss: an unchanged feed is requested conditionally', async () => {
    const { feeds, connect } = await startSite();
    feeds.publish('/feed', posts(2));
    const connection = connect('/feed');
    await connection.sync();
    const before = connection.cursor;
    const [ended] = await connection.sync();
    expect(feeds.requests.map(({ headers }) => headers['if-none-match'] !== undefined)).toEqual([
      false,
      true,
    ]);
    expect([ended?.outcome, ended?.stored, ended?.absorbed]).toEqual(['succeeded', 0, 0]);
    expect(connection.cursor).toEqual(before);
    feeds.serve('/dated', ({ headers }) =>
      headers['if-modified-since']
        ? { status: 304 }
        : { headers: { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }, body: '<rss><channel/></rss>' },
    );
    const dated = connect('/dated');
    await dated.sync();
    expect((await dated.sync()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
  });

  it('rss: an edited item emits item.updated, a new one item.published', async () => {
    const { feeds, connect } = await startSite();
    const own = posts(3);
    feeds.publish('/feed', own);
    const connection = connect('/feed');
    await connection.sync();
    own[1] = { ...(own[1] as Post), title: 'corrected' };
    feeds.publish('/feed', [post(3), ...own]);
    await connection.sync();
    expect(kinds(connection.signals.slice(3))).toEqual(['item.updated', 'item.published']);
    expect(titles(connection.signals.slice(3))).toEqual(['corrected', post(3).title]);
    // Items that leave the feed and return are still known.
    feeds.publish('/feed', [post(4)]);
    await connection.sync();
    feeds.publish('/feed', [post(4), ...own]);
    expect((await connection.sync()).map(({ stored, absorbed }) => [stored, absorbed])).toEqual([[0, 0]]);
  });

  it('rss: a full sync stores no duplicates', async () => {
    const { feeds, connect } = await startSite();
    feeds.publish('/feed', posts(4));
    const connection = connect('/feed');
    await connection.sync();
    const [ended] = await connection.sync({ type: 'full' });
    expect([ended?.stored, ended?.absorbed]).toEqual([0, 4]);
  });

  it('rss: a crash at any point causes neither loss nor duplicates', async () => {
    const { feeds, connector } = await startSite();
    const urls = [feeds.publish('/one', posts(3)), feeds.publish('/two', posts(4), 'atom')];
    const report = await crashTest(connector, { config: { urls }, secondCrashes: sized(20, 3) });
    expect(report).toMatchObject({ signals: 7, requests: 2 });
    expect(report.crashes).toBe(5);
  });

  it('rss: a feed that fails does not block the others', async () => {
    const { feeds, connect, lines } = await startSite();
    feeds.publish('/good', posts(2));
    feeds.serve('/gone', { status: 410 });
    feeds.serve('/closed', { status: 403 });
    const connection = connect('/gone', '/missing', '/closed', '/good');
    expect((await connection.sync()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(connection.signals).toHaveLength(2);
    expect(lines.map(({ msg }) => msg).join('\n')).toMatch(
      /410: the feed is permanently gone.*404.*denies access/s,
    );
    expect((await connect('/gone').run()).error?.kind).toBe('permanent');
  });

  it('rss: 429 requeues the job, 502 is retried, and 401 sets needs_auth', async () => {
    const { feeds, connector, connect } = await startSite();
    const url = feeds.publish('/feed', posts(2));
    feeds.refuse({ status: 429, headers: { 'retry-after': '90' } });
    const before = Date.now();
    const connection = connect('/feed');
    const limited = await connection.run();
    expect(limited.error?.kind).toBe('rate_limited');
    expect(Number(limited.retryAfter) - before).toBeGreaterThanOrEqual(90_000);
    feeds.refuse({ status: 502 });
    await connection.sync();
    expect(connection.signals).toHaveLength(2);

    feeds.serve('/locked', ({ headers }) =>
      headers.authorization === `Basic ${btoa('me:secret-word')}`
        ? { body: '<rss><channel><item><guid>1</guid></item></channel></rss>' }
        : { status: 401 },
    );
    const anonymous = connect('/locked');
    await anonymous.run();
    expect(anonymous.status).toBe('needs_auth');
    const credential = { type: 'basic', username: 'me', password: 'secret-word' } as const;
    const config = { url: url.replace('/feed', '/locked') };
    const authorized = connectInMemory(connector, { config, credential });
    await authorized.sync();
    expect(authorized.signals).toHaveLength(1);
  });

  it('rss: a feed that is always rate limited does not block the others', async () => {
    const { feeds, connect } = await startSite();
    feeds.publish('/good', posts(2));
    feeds.serve('/limited', { status: 429, headers: { 'retry-after': '90' } });
    const connection = connect('/limited', '/good');
    const outcomes: string[] = [];
    for (let i = 0; i < 4; i++) outcomes.push((await connection.run()).outcome);
    expect(outcomes).toEqual(['requeued', 'requeued', 'requeued', 'succeeded']);
    expect(connection.signals).toHaveLength(2);
    const alone = connect('/limited');
    for (let i = 0; i < 5; i++) expect((await alone.run()).error?.kind).toBe('rate_limited');
  });

  it('rss: no credential is sent if the feeds have several origins', async () => {
    const [first, second] = [await startFeeds(), await startFeeds()];
    const urls = [first.publish('/feed', posts(1)), second.publish('/feed', posts(1))];
    const credential = { type: 'api_key', key: 'sekret-key-123' } as const;
    await connectInMemory(rss({ network: 'any' }), { config: { urls }, credential }).sync();
    expect([...first.requests, ...second.requests].map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('rss: rejects private addresses unless the connector allows them', async () => {
    const { feeds } = await startSite();
    const url = feeds.publish('/feed', posts(1));
    const ended = await connectInMemory(rss(), { config: { url } }).run();
    expect(ended.error).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/public internet/),
    });
    expect(feeds.requests).toEqual([]);
  });

  it.each([
    ['neither url nor urls', {}, /either url, or urls/],
    ['another protocol', { url: 'file:///etc/passwd' }, /http:\/\//],
    ['a user name in the URL', { url: 'https://me:secret@example.com/feed' }, /credential instead/],
  ])('rss: config with %s is rejected with a hint', async (_name, config, message) => {
    const ended = await connectInMemory(rss(), { config }).run();
    expect(ended.error).toMatchObject({ kind: 'permanent', message: expect.stringMatching(message) });
    expect(ended.error?.message).not.toContain('secret@');
  });

  it('rss: follows redirects and resolves relative URLs against the final URL', async () => {
    const { feeds, connect } = await startSite();
    feeds.serve('/old', { status: 301, headers: { location: '/blog/feed' } });
    feeds.serve('/blog/feed', {
      body: '<rss><channel><item><guid>1</guid><link>first</link></item></channel></rss>',
    });
    const connection = connect('/old');
    await connection.sync();
    expect(connection.signals[0]?.payload).toMatchObject({
      url: `${feeds.url}/blog/first`,
      feed: { url: `${feeds.url}/old` },
    });
  });

  it('rss: a web page is rejected with the URL of the feed it links to', async () => {
    const { feeds, connect } = await startSite();
    const link = '<link rel="alternate" type="application/rss+xml" href="/feed.xml"><br>';
    feeds.serve('/page', {
      body: `<!-- hello --><!DOCTYPE html><html><head>${link}<p><p>${'<div>'.repeat(200)}`,
    });
    const { error } = await connect('/page').run();
    expect(error?.kind).toBe('permanent');
    expect(error?.message).toContain(
      `is a web page, not a feed. It links to ${feeds.url}/feed.xml: use that`,
    );
  });

  it.each([
    ['plain text', 'hello', 'permanent'],
    ['other XML', '<svg/>', 'permanent'],
    ['other JSON', '{"a":1}', 'permanent'],
    ['an empty body', '', 'permanent'],
    ['a truncated feed', '<rss><channel><item><guid>1</guid><title>Ha', 'transient'],
    ['truncated JSON', '{"version":"https://jsonfeed.org/version/1","items":[', 'transient'],
    ['200,000 unclosed tags', '<a>'.repeat(200_000), 'permanent'],
  ])('rss: %s is an error and stores nothing', async (_name, body, kind) => {
    const { feeds, connect } = await startSite();
    feeds.serve('/feed', { body });
    const connection = connect('/feed');
    expect((await connection.run()).error?.kind).toBe(kind);
    expect([connection.signals, connection.cursor]).toEqual([[], undefined]);
  });

  it('rss: an endless feed is aborted at maxBytes', async () => {
    const { feeds, connect } = await startSite({ maxBytes: 100_000 });
    let isOpen = true;
    feeds.serve('/feed', {
      write: (response) => {
        response.on('close', () => {
          isOpen = false;
        });
        const writeMore = () => {
          while (isOpen && response.write('<item/>'.repeat(1000)));
          if (isOpen) response.once('drain', writeMore);
        };
        writeMore();
      },
    });
    const { error } = await connect('/feed').run();
    expect(error).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/larger than 100000 bytes/),
    });
  });

  it('rss: stores thousands of items and their edits once each', async () => {
    const many = sized(10_000, 2000);
    const { feeds, connect } = await startSite();
    const own = posts(many);
    feeds.publish('/feed', own);
    const connection = connect('/feed');
    await connection.sync();
    expect(titles(connection.signals)).toEqual(oldestFirst(own));
    own[0] = { ...(own[0] as Post), title: 'corrected' };
    feeds.publish('/feed', [post(many), ...own]);
    await connection.sync();
    expect(connection.signals).toHaveLength(many + 2);
    expect(kinds(connection.signals.slice(-2))).toEqual(['item.updated', 'item.published']);
    expect(JSON.stringify(connection.cursor).length).toBeLessThan(150_000);
  });

  it('rss: items that left the feed between two syncs are lost, the current ones are stored', async () => {
    const { feeds, connect } = await startSite();
    feeds.publish('/feed', posts(10), 'rss', 10);
    const connection = connect('/feed');
    await connection.sync();
    feeds.publish('/feed', posts(25), 'rss', 10);
    await connection.sync();
    expect(connection.signals).toHaveLength(20);
  });

  it('rss: the engine stores items and cursor on Postgres', async () => {
    const { feeds, connector } = await startSite();
    const url = feeds.publish('/feed', posts(3));
    const connection = await connectToEngine(database, connector, { url });
    await connection.sync();
    feeds.publish('/feed', [post(3), ...posts(3)]);
    await connection.sync();
    await connection.sync();
    expect(await connection.counts()).toEqual({ 'item.published': 4 });
    expect(feeds.requests.map(({ headers }) => headers['if-none-match'] !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe('feed parsing', () => {
  const base = 'https://example.com/blog/feed.xml';
  const rssItems = (items: string, attributes = '') =>
    readFeed(`<rss ${attributes}><channel>${items}</channel></rss>`, base).items;

  it('rss: resolves namespaces by URI, not by prefix', () => {
    const [item] = rssItems(
      `<item><guid>1</guid><c:encoded><![CDATA[<p>all &amp; of it</p>]]></c:encoded><description>short</description>
       <who:creator>Ada</who:creator><who:date>2026-01-02T03:04:05+02:00</who:date><who:subject>x</who:subject><category>y</category>
       <m:group><m:content url="/v.mp4" type="video/mp4" fileSize="12"/></m:group><enclosure url="a.mp3" type="audio/mpeg" length="0"/></item>`,
      'xmlns:c="http://purl.org/rss/1.0/modules/content/" xmlns:who="http://purl.org/dc/elements/1.1/" xmlns:m="http://search.yahoo.com/mrss/"',
    );
    expect(item).toEqual({
      id: '1',
      title: null,
      url: null,
      summary: 'short',
      content: '<p>all &amp; of it</p>',
      authors: ['Ada'],
      categories: ['x', 'y'],
      published: '2026-01-02T01:04:05.000Z',
      updated: null,
      enclosures: [
        { url: 'https://example.com/blog/a.mp3', type: 'audio/mpeg', bytes: null },
        { url: 'https://example.com/v.mp4', type: 'video/mp4', bytes: 12 },
      ],
    });
  });

  it('rss: accepts undeclared entities, stray ampersands and unescaped HTML', () => {
    const [item] = rssItems(
      '<item><TITLE>caf&eacute;&nbsp;&amp;amp; Q&A &#8212; &lt;b></title><link>https://example.com/?a=1&b=2&copy=3</link><description>one<br/>two <b>x & y</b></description></item>',
    );
    expect(item).toMatchObject({
      title: 'café\u00a0&amp; Q&A — <b>',
      url: 'https://example.com/?a=1&b=2&copy=3',
      summary: 'one<br></br>two <b>x &amp; y</b>',
    });
  });

  it('rss: does not expand declared entities or read files', () => {
    const laughs = `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
      <rss><channel><item><guid>1</guid><title>&b; &f;</title></item></channel></rss>`;
    expect(readFeed(laughs, base).items[0]?.title).toBe('&b; &f;');
  });

  it('rss: parses a document with 50,000 namespace declarations', () => {
    const declared = Array.from({ length: 50_000 }, (_, i) => `xmlns:n${i}="u${i}"`).join(' ');
    const items = Array.from({ length: 10_000 }, (_, i) => `<item xmlns:o="u"><guid>${i}</guid></item>`).join(
      '',
    );
    expect(rssItems(items, declared)).toHaveLength(10_000);
  });

  it('rss: parses at most 20,001 items of a feed and limits its elements', () => {
    const links = Array.from({ length: 21_000 }, (_, i) => `https://x.example/${i}`);
    const xml = (items: string) => `<rss><channel>${items}</channel></rss>`;
    const feeds = [
      xml(links.map((link) => `<item><link>${link}</link></item>`).join('')),
      `<feed>${links.map((link) => `<entry><id>${link}</id></entry>`).join('')}</feed>`,
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1',
        items: links.map((url) => ({ url })),
      }),
    ];
    for (const feed of feeds) expect(readFeed(feed, base).items).toHaveLength(20_001);
    expect(() => readFeed(xml('<a/>'.repeat(1_000_000)), base)).toThrow(/too many elements/);
  });

  it('rss: an item without a guid is identified by its link, otherwise by its content', () => {
    const items = rssItems(
      '<item><link>one</link></item><item><title>a</title></item><item><title>b</title></item>',
    );
    expect(items[0]?.id).toBe('https://example.com/blog/one');
    expect(new Set(items.map(({ id }) => id)).size).toBe(3);
  });

  it('rss: items with the same guid are distinguished by content, and exact duplicates count once', () => {
    const items = rssItems(
      '<item><guid>x</guid><link>/1</link></item><item><guid>x</guid><link>/2</link></item><item><guid>x</guid><link>/2</link></item>',
    );
    expect(items.map(({ url }) => url)).toEqual(['https://example.com/1', 'https://example.com/2']);
  });

  it('rss: omits URLs that are not http or https', () => {
    const [item] = rssItems(
      '<item><guid>1</guid><link>javascript:alert(1)</link><enclosure url="data:x,y"/></item>',
    );
    expect(item).toMatchObject({ url: null, enclosures: [] });
  });

  it('rss: parses Atom with XHTML, xml:base, enclosures and feed authors', () => {
    const { title, items } = readFeed(
      `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://other.example/"><title type="html">A &lt;i&gt;b&lt;/i&gt;</title><author><name>Ada</name></author>
       <entry xml:base="x/"><id>urn:1</id><link rel="self" href="no"/><link href="yes"/><link rel="enclosure" href="a.mp3" length="5"/>
       <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p class="q">one &lt; two</p></div></content>
       <updated>2026-01-02T00:00:00Z</updated><category term="t"/></entry></feed>`,
      base,
    );
    expect(title).toBe('A <i>b</i>');
    expect(items[0]).toMatchObject({
      id: 'urn:1',
      url: 'https://other.example/x/yes',
      content: '<p class="q">one &lt; two</p>',
      authors: ['Ada'],
      categories: ['t'],
      published: null,
      updated: '2026-01-02T00:00:00.000Z',
      enclosures: [{ url: 'https://other.example/x/a.mp3', type: null, bytes: 5 }],
    });
  });

  it('rss: detects the charset from header, XML declaration or byte order mark', async () => {
    const { feeds, connect } = await startSite();
    const body = (encoding: string) =>
      `<?xml version="1.0"${encoding}?><rss><channel><item><guid>1</guid><title>caf\u00e9</title></item></channel></rss>`;
    const latin = (encoding: string) => Buffer.from(body(encoding), 'latin1');
    feeds.serve('/header', { headers: { 'content-type': 'text/xml; charset=ISO-8859-1' }, body: latin('') });
    feeds.serve('/declared', {
      headers: { 'content-type': 'text/xml' },
      body: latin(' encoding="iso-8859-1"'),
    });
    feeds.serve('/mark', { body: Buffer.from(`\ufeff${body(' encoding="utf-16"')}`, 'utf16le') });
    feeds.serve('/unknown', { body: Buffer.from(body(' encoding="klingon"')) });
    const connection = connect('/header', '/declared', '/mark', '/unknown');
    await connection.sync();
    expect(titles(connection.signals)).toEqual(['café', 'café', 'café', 'café']);
  });

  it('rss: an item without a valid date occurred when it was first seen', async () => {
    const { feeds, connect } = await startSite();
    const before = Date.now();
    feeds.serve('/feed', {
      body: '<rss><channel><item><guid>1</guid><pubDate>yesterday 3</pubDate></item></channel></rss>',
    });
    const connection = connect('/feed');
    await connection.sync();
    const [signal] = connection.signals;
    expect(signal?.payload).toMatchObject({ published: null });
    expect(Date.parse(signal?.occurredAt ?? '')).toBeGreaterThanOrEqual(before);
  });

  it.each([
    ['Wed, 02 Oct 2002 13:00:00 GMT', '2002-10-02T13:00:00.000Z'],
    ['Wed, 2 Oct 02 13:00 EST', '2002-10-02T18:00:00.000Z'],
    ['02 October 2002 13:00:00 +0230', '2002-10-02T10:30:00.000Z'],
    ['Wed, 02 Oct 2002 13:00:00', '2002-10-02T13:00:00.000Z'],
    ['Wed, 02 Oct 2002 13:00:00 CEST', '2002-10-02T11:00:00.000Z'],
    ['2002-10-02T13:00:00.5-05:00', '2002-10-02T18:00:00.000Z'],
    ['2002-10-02 13:00:00', '2002-10-02T13:00:00.000Z'],
    ['2002-10-02', '2002-10-02T00:00:00.000Z'],
    ['31 Feb 2002 00:00:00 GMT', undefined],
    ['Wed, 02 Oct 2002 25:00:00 GMT', undefined],
    ['Wed, 02 Oct 2002 13:00:00 constructor', undefined],
    ['0001-01-01T00:00:00Z', undefined],
    ['12', undefined],
    ['', undefined],
  ])('rss: the date "%s" is parsed independently of the local time zone', (text, expected) => {
    expect(parseDate(text)?.toISOString()).toBe(expected);
  });
});
