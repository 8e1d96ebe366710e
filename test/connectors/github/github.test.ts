import { describe, expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import { connectInMemory, crashTest, type MemoryOptions } from '../../../src/testing/index.ts';
import { type FakeGithub, useGithub } from '../../support/providers/github.ts';
import type { FakeRepository } from '../../support/providers/github-repository.ts';
import { sampled, sized } from '../../support/size.ts';
import { addItems, expectTruth } from './truth.ts';

/** One resource per paging strategy; comments are paged like issues. */
const walked = ['issues', 'pull_requests', 'commits', 'releases'] as const;

const startGithub = useGithub();
const key = 'ghp_0123456789';
const credential = { type: 'api_key', key } as const;

const connect = (server: FakeGithub, config: object = {}, options: MemoryOptions = {}) =>
  connectInMemory(github({ baseUrl: server.url }), {
    credential,
    config: { repositories: ['octo/hello'], ...config },
    ...options,
  });

describe('github', () => {
  it('github: the first sync stores every item once and does not store pull requests as issues', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 7);
    server.maxPerPage = 3;
    const connection = connect(server);
    const runs = await connection.sync();
    expect(runs.at(-1)).toMatchObject({ outcome: 'succeeded', hasMore: false, warning: undefined });
    expectTruth(connection.signals, repository);
    expect(connection.signals).toHaveLength(6 * 7);
    expect(new Set(connection.signals.map(({ kind }) => kind))).toEqual(
      new Set([
        'issue.created',
        'pull_request.created',
        'issue_comment.created',
        'review_comment.created',
        'commit.added',
        'release.published',
      ]),
    );
    expect(connection.signals[0]).toMatchObject({
      kind: 'issue.created',
      occurredAt: '2026-03-02T09:00:00.000Z',
      payload: {
        repository: 'octo/hello',
        number: 1,
        title: 'Number 1',
        state: 'open',
        author: 'octocat',
        labels: [],
        url: 'https://github.com/octo/hello/issues/1',
      },
    });
  });

  it('github: later syncs store only changes; the kind follows from the item timestamps', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 3);
    const connection = connect(server);
    await connection.sync();
    server.tick(3600);
    const [issue, other] = [...repository.items.issues.values()];
    const [pull, otherPull] = [...repository.items.pull_requests.values()];
    if (!issue || !other || !pull || !otherPull) throw new Error('nothing to change');
    const at = new Date(server.nowMs).toISOString().replace('.000', '');
    repository.edit('issues', issue.id, { title: 'Another title', labels: [{ id: 1, name: 'bug' }] });
    repository.edit('issues', other.id, { state: 'closed', closed_at: at });
    repository.edit('pull_requests', pull.id, { state: 'closed', closed_at: at, merged_at: at });
    repository.edit('pull_requests', otherPull.id, { title: 'Renamed' });
    repository.comment();
    const before = connection.signals.length;
    await connection.sync();
    expect(connection.signals.slice(before).map(({ kind }) => kind)).toEqual([
      'issue.updated',
      'issue.closed',
      'pull_request.updated',
      'pull_request.merged',
      'issue_comment.created',
    ]);
    expectTruth(connection.signals, repository);
    server.tick(3600);
    const last = connection.signals.length;
    await connection.sync();
    expect(connection.signals).toHaveLength(last);
  });

  it('github: two changes within one second are two versions', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    const { id } = repository.openIssue();
    const connection = connect(server, { resources: ['issues'] });
    await connection.sync();
    repository.edit('issues', id, { title: 'first' });
    await connection.sync();
    repository.edit('issues', id, { title: 'second' });
    await connection.sync();
    expect(connection.signals.map(({ payload }) => (payload as { title: string }).title)).toEqual([
      'Number 1',
      'first',
      'second',
    ]);
  });

  it('github: items that change during the walk are found, on every page', async () => {
    for (const edited of [0, 3, 6, 11]) {
      const server = await startGithub();
      server.maxPerPage = 4;
      const repository = server.repository('octo/hello');
      for (let i = 0; i < 12; i++) {
        for (const add of [repository.openIssue, repository.openPull, repository.comment]) add();
        server.tick(i % 3);
      }
      const editItem = (resource: 'issues' | 'pull_requests' | 'issue_comments') => {
        const item = [...repository.items[resource].values()][edited];
        if (item) repository.edit(resource, item.id, { body: `changed at ${server.nowMs}` });
      };
      server.beforeSend = (_path, n) => {
        server.tick(1);
        if (n % 2 === 1)
          for (const resource of ['issues', 'pull_requests', 'issue_comments'] as const) editItem(resource);
      };
      const connection = connect(server, { resources: ['issues', 'pull_requests', 'issue_comments'] });
      await connection.sync();
      server.beforeSend = undefined;
      await connection.sync();
      expectTruth(connection.signals, repository);
    }
  });

  it('github: reads 450 items of one second while more than a page of them changes', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    for (let i = 0; i < 450; i++) repository.openIssue();
    server.tick(600);
    const ids = [...repository.items.issues.keys()];
    server.beforeSend = (_path, n) => {
      server.tick(1);
      if (n === 2 || n === 4)
        for (const id of ids.splice(0, 130)) repository.edit('issues', id, { title: `${n}` });
      if (n === 3) for (const id of ids.splice(0, 20)) repository.remove('issues', id);
    };
    const connection = connect(server, { resources: ['issues'] });
    await connection.sync();
    server.beforeSend = undefined;
    server.tick(600);
    await connection.sync();
    expectTruth(connection.signals, repository);

    // Past seconds are settled and not read again.
    const before = server.requests.length;
    server.tick(600);
    await connection.sync();
    server.tick(600);
    await connection.sync();
    expect(server.requests.length - before).toBeLessThanOrEqual(6);
    expect(server.requests.at(-1)?.status).toBe(304);
  });

  it('github: finds items that become visible late', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    server.tick(100);
    const late = repository.openIssue();
    const latePull = repository.openPull();
    server.tick(20);
    repository.openIssue();
    repository.openPull();
    // They have timestamps but are not listed yet.
    repository.items.issues.delete(late.id);
    repository.items.pull_requests.delete(latePull.id);
    const connection = connect(server, { resources: ['issues', 'pull_requests'] });
    await connection.sync();
    repository.items.issues.set(late.id, late);
    repository.items.pull_requests.set(latePull.id, latePull);
    server.tick(30);
    await connection.sync();
    expectTruth(connection.signals, repository);
  });

  it('github: reads pull requests back to the previous watermark and no further', async () => {
    const server = await startGithub();
    server.maxPerPage = 2;
    const repository = server.repository('octo/hello');
    for (let i = 0; i < 10; i++) {
      repository.openPull();
      server.tick(60);
    }
    const connection = connect(server, { resources: ['pull_requests'] });
    await connection.sync();
    expect(server.requests).toHaveLength(5);
    server.tick(600);
    const [oldest = 0] = repository.items.pull_requests.keys();
    repository.edit('pull_requests', oldest, { title: 'Changed' });
    await connection.sync();
    expect(server.requests).toHaveLength(7);
    expectTruth(connection.signals, repository, ['pull_requests']);
  });

  it('github: the first sync starts at `since`', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 2);
    server.tick(86_400);
    const since = new Date(server.nowMs).toISOString();
    addItems(repository, 3);
    const connection = connect(server, { since });
    await connection.sync();
    expect(connection.signals).toHaveLength(6 * 3);
  });

  it('github: follows a renamed repository', async () => {
    const server = await startGithub();
    server.maxPerPage = 2;
    const repository = server.repository('octo/hello');
    addItems(repository, 3);
    const connection = connect(server);
    await connection.sync();
    server.move('octo/hello', 'octo/goodbye');
    server.tick(600);
    addItems(repository, 5);
    await connection.sync();
    expect(server.requests.some(({ status }) => status === 301)).toBe(true);
    expect(connection.signals).toHaveLength(6 * 8);
  });

  it('github: stores thousands of issues once each', async () => {
    const many = sized(10_000, 2000);
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    for (let i = 0; i < many; i++) {
      repository.openIssue();
      server.tick(i % 7 === 0 ? 1 : 0);
    }
    const connection = connect(server, { resources: ['issues'] });
    await connection.sync();
    expectTruth(connection.signals, repository);
    expect(connection.signals).toHaveLength(many);
    // Pages of 100 overlap by the items of one second, so a few requests are added to the minimum.
    expect(server.requests.length).toBeLessThan((many / 100) * 1.15);
  });

  it.each(sampled(walked, 2))(
    'github: %s: a crash at any point causes neither loss nor duplicates',
    async (resource) => {
      let server = await startGithub();
      const report = await crashTest(github({ baseUrl: 'http://github.test' }), {
        secondCrashes: sized(20, 3),
        credential,
        config: { repositories: ['octo/hello', 'octo/other'], resources: [resource] },
        fetch: (input, init) => fetch(String(input).replace('http://github.test', server.url), init),
        reset: async () => {
          server = await startGithub();
          server.maxPerPage = 2;
          for (const name of ['octo/hello', 'octo/other'])
            for (let i = 0; i < 3; i++) {
              addItems(server.repository(name), i, [resource]);
              server.tick(1);
            }
          server.tick(300);
        },
      });
      expect(report.signals).toBe(2 * 3);
      expect(report.crashes).toBeGreaterThanOrEqual(9);
    },
  );

  it.each(sampled(walked, 2))(
    'github: %s: a crash at any point while items change causes neither loss nor duplicates',
    async (resource) => {
      let server = await startGithub();
      let isCalm = false;
      await crashTest(github({ baseUrl: 'http://github.test' }), {
        secondCrashes: sized(20, 3),
        // Covered by the previous test; each fault costs a pause.
        faults: 'none',
        credential,
        config: { repositories: ['octo/hello'], resources: [resource] },
        fetch: (input, init) => fetch(String(input).replace('http://github.test', server.url), init),
        reset: async () => {
          server = await startGithub();
          isCalm = false;
          server.maxPerPage = 3;
          addItems(server.repository('octo/hello'), 7, [resource]);
          server.tick(300);
        },
        meanwhile: (n) => {
          const repository = server.repository('octo/hello');
          if (isCalm || n > 15) return;
          server.tick(n % 2);
          if (resource === 'commits') repository.commit({ date: '2020-01-01T00:00:00Z' });
          else if (resource === 'releases') changeReleases(repository, n);
          else {
            const item = [...repository.items[resource].values()][n % 7];
            if (item) repository.edit(resource, item.id, { body: `after ${n}` });
          }
        },
        check: async (connection) => {
          isCalm = true;
          server.tick(300);
          await connection.sync();
          expectTruth(connection.signals, server.repository('octo/hello'), [resource]);
        },
      });
    },
  );
});

function changeReleases(repository: FakeRepository, n: number): void {
  const ids = [...repository.items.releases.keys()];
  const [first = 0] = ids.slice(n % ids.length);
  if (n % 3 === 0) repository.remove('releases', first);
  else if (n % 3 === 1) repository.release();
}
