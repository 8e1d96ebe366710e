import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { httpFromYaml } from '../../../src/connectors/index.ts';
import type { Connector } from '../../../src/contract/connector.ts';
import { connectInMemory, crashTest, type MemoryOptions } from '../../../src/testing/index.ts';

const folder = new URL('../../../examples/http/', import.meta.url);
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}
type Respond = (url: URL, request: IncomingMessage) => Reply;

async function serve(respond: (origin: string) => Respond): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, headers, body } = respond(origin())(new URL(request.url ?? '/', origin()), request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  servers.push(server);
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return origin();
}

/** Loads an example with the provider's origin replaced. */
function example(name: string, origin: string): Connector {
  const text = readFileSync(new URL(`${name}.yaml`, folder), 'utf8');
  return httpFromYaml(text.replace(/^baseUrl: https:\/\/[^/\n]*/m, `network: any\nbaseUrl: ${origin}`));
}

/** Rejects query parameters that the provider does not document. */
function allowOnly(url: URL, ...names: string[]): Reply | undefined {
  const unknown = [...url.searchParams.keys()].filter((name) => !names.includes(name));
  return unknown.length > 0 ? { status: 400, body: { error: `unknown ${unknown}` } } : undefined;
}

async function expectSynced(
  connector: Connector,
  options: MemoryOptions,
  change: () => void,
): Promise<string[]> {
  const connection = connectInMemory(connector, options);
  const sync = async () => expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
  await sync();
  change();
  await sync();
  await sync();
  const report = await crashTest(connector, options);
  expect(report.crashes).toBeGreaterThan(3);
  return connection.signals.map(({ kind, dedupeKey }) => `${kind} ${dedupeKey?.replace(/[@#].*/, '')}`);
}

describe('http: examples', () => {
  it('http: every example is valid and tested here', () => {
    const names = readdirSync(folder).map((file) => file.replace('.yaml', ''));
    expect(names.sort()).toEqual(['gitlab', 'jira', 'sentry', 'stripe']);
    for (const name of names)
      expect(httpFromYaml(new URL(`${name}.yaml`, folder).pathname).provider).toBe(name);
  });

  it('http: the Jira example reads page tokens in the body, with a query language', async () => {
    const issues = Array.from({ length: 7 }, (_, i) => ({
      id: `${100 + i}`,
      key: `AB-${i}`,
      fields: {
        summary: 's',
        updated: `2025-01-0${i + 1}T10:00:00.000+0000`,
        status: { name: 'Done', statusCategory: { key: i % 2 ? 'done' : 'new' } },
      },
    }));
    const jqls = new Set<string | null>();
    const origin = await serve(() => (url, request) => {
      if (request.headers.authorization !== `Basic ${Buffer.from('ann@x.example:token').toString('base64')}`)
        return { status: 401, body: {} };
      if (url.pathname !== '/rest/api/3/search/jql') return { status: 404, body: {} };
      const refused = allowOnly(url, 'jql', 'fields', 'maxResults', 'nextPageToken');
      if (refused) return refused;
      const jql = url.searchParams.get('jql');
      jqls.add(jql);
      const since = /^project = AB AND updated >= "(\d{4}-\d\d-\d\d)" ORDER BY updated ASC$/.exec(
        jql ?? '',
      )?.[1];
      if (!since) return { status: 400, body: { errorMessages: ['bad jql'] } };
      const found = issues
        .filter(({ fields }) => fields.updated >= since)
        .sort((a, b) => a.fields.updated.localeCompare(b.fields.updated));
      const at = Number(url.searchParams.get('nextPageToken') ?? 0);
      const isLast = at + 3 >= found.length;
      return {
        body: { issues: found.slice(at, at + 3), isLast, ...(!isLast && { nextPageToken: `${at + 3}` }) },
      };
    });
    const credential = { type: 'basic', username: 'ann@x.example', password: 'token' } as const;
    const kinds = await expectSynced(
      example('jira', origin),
      { credential, config: { site: 'x', project: 'AB' } },
      () => {
        const first = issues[0];
        if (first) first.fields = { ...first.fields, updated: '2025-01-09T10:00:00.000+0000' };
      },
    );
    expect(kinds).toHaveLength(8);
    expect(kinds.filter((kind) => kind === 'issue.open issues/100')).toHaveLength(2);
    expect([...jqls]).toContain('project = AB AND updated >= "2025-01-06" ORDER BY updated ASC');
  });

  it('http: the Stripe example reads newest first by the last record, until has_more is false', async () => {
    const events = Array.from({ length: 8 }, (_, i) => ({
      id: `evt_${i}`,
      type: 'charge.succeeded',
      created: 1_735_689_600 + Math.floor(i / 2),
      livemode: false,
      data: { object: { id: i } },
    }));
    const origin = await serve(() => (url, request) => {
      if (request.headers.authorization !== 'Bearer sk')
        return { status: 401, body: { error: { type: 'invalid_request_error' } } };
      if (url.pathname !== '/v1/events' || request.headers['stripe-version'] !== '2024-06-20')
        return { status: 404, body: {} };
      const refused = allowOnly(url, 'limit', 'starting_after', 'created[gte]');
      if (refused) return refused;
      const since = Number(url.searchParams.get('created[gte]') ?? 0);
      const found = events.filter(({ created }) => created >= since).reverse();
      const after = url.searchParams.get('starting_after');
      const at = after === null ? 0 : found.findIndex(({ id }) => id === after) + 1;
      return { body: { object: 'list', data: found.slice(at, at + 3), has_more: at + 3 < found.length } };
    });
    const kinds = await expectSynced(
      example('stripe', origin),
      { credential: { type: 'api_key', key: 'sk' } },
      () => {
        events.push({
          id: 'evt_late',
          type: 'charge.refunded',
          created: 1_735_689_603,
          livemode: false,
          data: { object: { id: 9 } },
        });
      },
    );
    expect(kinds).toHaveLength(9);
    expect(kinds.at(-1)).toBe('charge.refunded events/evt_late');
  });

  it('http: the Sentry example reads pages until the Link header marks the next one as empty', async () => {
    const events = Array.from({ length: 7 }, (_, i) => ({
      eventID: `e${i}`,
      id: `e${i}`,
      platform: 'node',
      dateCreated: `2025-01-01T0${i}:00:00.123456Z`,
    }));
    const origin = await serve((self) => (url, request) => {
      if (request.headers.authorization !== 'Bearer t') return { status: 401, body: {} };
      if (url.pathname !== '/api/0/projects/acme/web%20app/events/') return { status: 404, body: {} };
      const refused = allowOnly(url, 'cursor');
      if (refused) return refused;
      const found = [...events].sort((a, b) => b.dateCreated.localeCompare(a.dateCreated));
      const at = Number(url.searchParams.get('cursor')?.split(':')[1] ?? 0);
      const link = (rel: string, offset: number, results: boolean) =>
        `<${self}${url.pathname}?&cursor=0:${offset}:0>; rel="${rel}"; results="${results}"; cursor="0:${offset}:0"`;
      return {
        headers: {
          link: `${link('previous', Math.max(0, at - 3), at > 0)}, ${link('next', at + 3, at + 3 < found.length)}`,
        },
        body: found.slice(at, at + 3),
      };
    });
    const kinds = await expectSynced(
      example('sentry', origin),
      { credential: { type: 'api_key', key: 't' }, config: { organization: 'acme', project: 'web app' } },
      () => {
        events.push({ eventID: 'late', id: 'late', platform: 'node', dateCreated: '2025-01-01T05:30:00Z' });
      },
    );
    expect(kinds).toHaveLength(8);
    expect(kinds.at(-1)).toBe('error.node events/late');
  });

  it('http: the GitLab example reads numbered pages of the Link header, oldest change first', async () => {
    const issues = Array.from({ length: 9 }, (_, i) => ({
      id: i,
      iid: i,
      title: 't',
      state: 'opened',
      updated_at: `2025-01-01T00:00:0${i}.000Z`,
      web_url: 'u',
      author: { username: 'a' },
    }));
    const origin = await serve((self) => (url, request) => {
      if (request.headers['private-token'] !== 'glpat') return { status: 401, body: {} };
      if (url.pathname !== '/api/v4/projects/group%2Fapp/issues') return { status: 404, body: {} };
      const refused = allowOnly(url, 'scope', 'order_by', 'sort', 'per_page', 'page', 'updated_after');
      if (refused) return refused;
      const since = Date.parse(url.searchParams.get('updated_after') ?? '1970-01-01');
      const found = issues
        .filter(({ updated_at }) => Date.parse(updated_at) >= since)
        .sort((a, b) => a.updated_at.localeCompare(b.updated_at));
      const page = Number(url.searchParams.get('page') ?? 1);
      const next = new URL(url);
      next.searchParams.set('page', `${page + 1}`);
      const hasMore = page * 3 < found.length;
      return {
        ...(hasMore && { headers: { link: `<${self}${next.pathname}${next.search}>; rel="next"` } }),
        body: found.slice((page - 1) * 3, page * 3),
      };
    });
    const kinds = await expectSynced(
      example('gitlab', origin),
      { credential: { type: 'api_key', key: 'glpat' }, config: { project: 'group/app' } },
      () => {
        const first = issues[0];
        if (first) Object.assign(first, { state: 'closed', updated_at: '2025-01-02T00:00:00.000Z' });
      },
    );
    expect(kinds).toHaveLength(10);
    expect(kinds.at(-1)).toBe('issue.closed issues/0');
  });
});
