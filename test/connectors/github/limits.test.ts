import { describe, expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import type { Budget, BudgetNews, Budgets } from '../../../src/contract/budget.ts';
import { connectInMemory, type MemoryOptions, type MemoryRun } from '../../../src/testing/index.ts';
import { type FakeGithub, type Trouble, useGithub } from '../../support/providers/github.ts';
import { addItems, expectTruth } from './truth.ts';

const startGithub = useGithub();
const key = 'ghp_0123456789';
const credential = { type: 'api_key', key } as const;

const connect = (server: FakeGithub, config: object = {}, options: MemoryOptions = {}) =>
  connectInMemory(github({ baseUrl: server.url }), {
    credential,
    config: { repositories: ['octo/hello'], ...config },
    ...options,
  });

/** Records every call and grants every request. */
function recordingBudgets() {
  const taken: string[][] = [];
  const freed: boolean[] = [];
  const learned: { name: string; news: BudgetNews }[] = [];
  const budgets: Budgets = {
    take: async (uses) => {
      taken.push(uses.map(({ budget: { name, per, limit } }) => `${name} ${limit} per ${per}`));
      return { settle: ({ free = false } = {}) => void freed.push(free) };
    },
    learn: ({ name }: Budget, news) => void learned.push({ name, news }),
  };
  return { budgets, taken, freed, learned };
}

const secondsUntilRetry = (run: MemoryRun | undefined, fromMs: number) =>
  Math.round(((run?.retryAfter?.getTime() ?? 0) - fromMs) / 1000);

describe('github limits', () => {
  it('github: every request uses the hourly and minute budgets, or the anonymous one', async () => {
    const server = await startGithub();
    addItems(server.repository('octo/hello'), 1);
    const { budgets, taken, learned } = recordingBudgets();
    await connect(server, { resources: ['issues'] }, { budgets }).sync();
    expect(taken).toEqual([['core 5000 per credential', 'points 900 per credential']]);
    expect(learned).toEqual([
      { name: 'core', news: { limit: 5000, remaining: 4999, resetsInSeconds: 3600 } },
    ]);

    const anonymousBudgets = recordingBudgets();
    const anonymous = connect(
      server,
      { resources: ['issues'] },
      { budgets: anonymousBudgets.budgets, credential: undefined },
    );
    for (let i = 0; i < 4; i++) {
      await anonymous.sync();
      server.tick(600);
    }
    expect(anonymousBudgets.taken[0]).toEqual(['core 60 per app']);
    expect(server.requests.at(-1)).toMatchObject({ status: 304, token: undefined });
    // Without a token, a 304 response counts against the limit.
    expect(anonymousBudgets.freed).toEqual([false, false, false, false]);
  });

  it('github: a sync without changes uses no hourly quota and stores nothing', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 3);
    const { budgets, freed } = recordingBudgets();
    const connection = connect(server, {}, { budgets });
    for (let i = 0; i < 4; i++) {
      if (i === 1) addItems(repository, 1);
      await connection.sync();
      server.tick(300);
    }
    const { cursor } = connection;
    const used = server.used(key);
    const requestsBefore = server.requests.length;
    freed.length = 0;
    const [run] = await connection.sync();
    expect(run).toMatchObject({ outcome: 'succeeded', stored: 0, absorbed: 0 });
    expect(server.requests.slice(requestsBefore).map(({ status }) => status)).toEqual([
      304, 304, 304, 304, 304, 304,
    ]);
    expect(server.used(key)).toBe(used);
    expect(freed).toEqual([true, true, true, true, true, true]);
    expect(connection.cursor).toEqual(cursor);
    // ETags of requests that are not repeated are dropped from the cursor.
    const { streams } = cursor as { streams: Record<string, { validators: { tags: object } }> };
    expect(Object.values(streams).map(({ validators }) => Object.keys(validators.tags).length)).toEqual([
      1, 1, 1, 1, 1, 1,
    ]);
  });

  it('github: with the hourly quota used up, the job keeps its signals and waits for the reset', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 9);
    server.maxPerPage = 3;
    server.limit = 5;
    const connection = connect(server);
    server.tick(0);
    const runs = await connection.sync();
    const before = Date.now();
    expect(runs).toHaveLength(2);
    expect(runs[0]).toMatchObject({ outcome: 'succeeded', hasMore: true });
    expect(runs[1]).toMatchObject({ outcome: 'requeued', error: { kind: 'rate_limited' } });
    expect(secondsUntilRetry(runs[1], before)).toBeGreaterThanOrEqual(3590);
    expect(connection.signals.length).toBeGreaterThan(0);
    for (let hours = 0; hours < 20 && (await connection.sync()).at(-1)?.outcome !== 'succeeded'; hours++)
      server.tick(3600);
    expectTruth(connection.signals, repository);
  });

  it.each<[string, Trouble, number]>([
    ['with retry-after', { status: 403, headers: { 'retry-after': '90' } }, 90],
    ['with status 429 and retry-after', { status: 429, headers: { 'retry-after': '45' } }, 45],
    [
      'with only a message',
      { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } },
      60,
    ],
    ['without any detail', { status: 429 }, 60],
    [
      'with an abuse message',
      { status: 403, body: { message: 'You have triggered an abuse detection mechanism.' } },
      60,
    ],
  ])(
    'github: a secondary limit %s exhausts the minute budget of the credential',
    async (_, trouble, seconds) => {
      const server = await startGithub();
      const repository = server.repository('octo/hello');
      addItems(repository, 2);
      server.trouble = (_path, n) => (n <= 2 ? trouble : undefined);
      const { budgets, learned } = recordingBudgets();
      const connection = connect(server, {}, { budgets });
      const first = await connection.run();
      expect(first).toMatchObject({ outcome: 'requeued', error: { kind: 'rate_limited' } });
      expect(first.error?.message).toContain(`Retry after ${seconds} s`);
      expect(learned.at(-1)).toEqual({ name: 'points', news: { remaining: 0, resetsInSeconds: seconds } });
      // Without retry-after, the wait doubles per attempt.
      const hasRetryAfter = trouble.headers !== undefined;
      const second = await connection.run();
      expect(second.error?.message).toContain(`Retry after ${hasRetryAfter ? seconds : 120} s`);
      await connection.sync();
      expectTruth(connection.signals, repository);
    },
  );

  it('github: a revoked token sets needs_auth', async () => {
    const server = await startGithub();
    addItems(server.repository('octo/hello'), 1);
    const connection = connect(server);
    await connection.sync();
    server.revoke(key);
    const [run] = await connection.sync();
    expect(run).toMatchObject({ outcome: 'failed', error: { kind: 'unauthorized' } });
    expect(run?.error?.message).not.toContain(key);
    expect(connection.status).toBe('needs_auth');
  });

  it('github: a server error is retried and keeps the signals read so far', async () => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 3);
    // Fails more requests than one run retries.
    server.trouble = (path, n) => (path.includes('/pulls?') && n < 8 ? { status: 502 } : undefined);
    const connection = connect(server);
    const runs = await connection.sync();
    expect(runs.map(({ outcome }) => outcome)).toEqual(['succeeded', 'requeued']);
    expect(runs[1]?.error?.kind).toBe('transient');
    expect((await connection.sync()).at(-1)?.outcome).toBe('succeeded');
    expectTruth(connection.signals, repository);
  });

  it.each<[string, Trouble]>([
    ['is missing or hidden from the token', { status: 404, body: { message: 'Not Found' } }],
    ['denies access', { status: 403, body: { message: 'Resource not accessible by integration' } }],
    ['has no issues', { status: 410, body: { message: 'Issues are disabled for this repo' } }],
    ['was taken down', { status: 451, body: { message: 'Repository access blocked' } }],
  ])('github: a repository that %s does not block the others', async (_, trouble) => {
    const server = await startGithub();
    const repository = server.repository('octo/hello');
    addItems(repository, 2);
    server.trouble = (path) => (path.startsWith('/repos/octo/gone/') ? trouble : undefined);
    const repositories = ['octo/gone', 'octo/hello'];
    const connection = connect(server, { repositories });
    const runs = await connection.sync();
    expect(runs.at(-1)).toMatchObject({ outcome: 'succeeded', hasMore: false });
    expectTruth(connection.signals, repository);

    const [alone] = await connect(server, { repositories: ['octo/gone'], resources: ['issues'] }).sync();
    expect(alone).toMatchObject({ outcome: 'failed', error: { kind: 'permanent' } });
    expect(alone?.error?.message).toContain(String(trouble.status));
    if (trouble.status === 404) expect(alone?.error?.message).toContain('check config.repositories');
  });
});
