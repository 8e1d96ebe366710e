import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { demoConnectors } from '../../src/dev/demo-connectors.ts';
import { feedOf, paceSeconds } from '../../src/dev/provider/feed.ts';
import { tokenOf } from '../../src/dev/provider/tokens.ts';
import { tokensValidSince } from '../../src/dev/provider/weather.ts';
import { startProviderServer } from '../../src/dev/provider-server.ts';
import type { Syncline } from '../../src/index.ts';
import { memoryContext } from '../../src/testing/context.ts';
import { silent, tenant, useDatabase } from '../setup/database.ts';
import { recordingLogger } from '../setup/log.ts';
import { calmMinutes, momentOf, useProviders } from '../setup/provider-server.ts';

const database = useDatabase();
const providers = useProviders();
beforeEach(() => database.empty());

const accounts = [
  ['github', 'acme/app'],
  ['slack', 'acme/help'],
  ['google-calendar', 'team@acme.example'],
  ['postgres', 'acme/shop'],
] as const;

/** A connection to an account of the provider server, and an engine to sync it with. */
async function connect(provider: string, account: string, token = tokenOf(provider, account)) {
  const server = await providers.start();
  const { log, lines } = recordingLogger('trace');
  const engine = database.engine({ connectors: demoConnectors(server.url), logger: log });
  const { id } = await engine.connections.create({
    tenantId: tenant,
    provider,
    externalId: account,
    config: { account, token },
  });
  return { engine, id, server, sync: () => sync(engine, id), lines };
}

/** Runs it now, with everything that follows from it. */
async function sync(engine: Syncline, id: string) {
  await engine.connections.trigger(id);
  return engine.drain();
}

const cursorOf = async (engine: Syncline, id: string) => (await engine.connections.get(id)).sync.cursor;

async function lastError() {
  const [job] = await database.sql<{ status: string; kind: string; waits: number }>(
    `SELECT status, error ->> 'kind' AS kind, extract(epoch FROM retry_after - (error ->> 'at')::timestamptz)::float8 AS waits
     FROM sync_jobs WHERE error IS NOT NULL ORDER BY updated_at DESC LIMIT 1`,
  );
  return job;
}

describe('what comes in', () => {
  it.each(accounts)(
    '%s: first the whole backlog, page by page, then only what is new',
    async (provider, account) => {
      const feed = feedOf(provider, account);
      providers.nowMs = calmMinutes(5, provider, account);
      const { sync } = await connect(provider, account);
      const oldest = feed.backlogStart(providers.nowMs);
      const first = await sync();
      expect(first.claimed).toBeGreaterThan(1);
      expect(first).toMatchObject({
        requeued: 0,
        failed: 0,
        signals: feed.newest(providers.nowMs) - oldest + 1,
      });

      for (let minute = 0; minute < 4; minute++) {
        const seen = feed.newest(providers.nowMs);
        providers.nowMs += 60_000;
        const found = feed.newest(providers.nowMs) - seen;
        expect(await sync()).toMatchObject({ claimed: 1, signals: found });
      }
      const [stored] = await database.sql('SELECT count(DISTINCT occurred_at)::int AS times FROM signals');
      expect(stored).toEqual({ times: feed.newest(providers.nowMs) - oldest + 1 });
    },
  );

  it('signals say what happened and when, with what the provider said as payload', async () => {
    for (const [provider, account] of accounts) {
      providers.nowMs = calmMinutes(1, provider, account);
      await (await connect(provider, account)).sync();
    }
    const kinds = await database.sql<{ kind: string }>('SELECT DISTINCT kind FROM signals ORDER BY kind');
    expect(kinds.map(({ kind }) => kind)).toEqual([
      'event.cancelled',
      'event.created',
      'event.moved',
      'file.shared',
      'issue.closed',
      'issue.opened',
      'message.posted',
      'message.replied',
      'pull_request.merged',
      'pull_request.opened',
      'row.deleted',
      'row.inserted',
      'row.updated',
    ]);
    const [issue] = await database.sql<{ payload: { updated_at: string }; occurred_at: Date }>(
      `SELECT payload, occurred_at FROM signals WHERE kind = 'issue.opened' LIMIT 1`,
    );
    expect(issue?.payload).toMatchObject({ title: expect.any(String), user: { login: expect.any(String) } });
    expect(Date.parse(issue?.payload.updated_at ?? '')).toBe(issue?.occurred_at.getTime());
  });

  it('a walk that was interrupted goes on where it was, at another address of the provider', async () => {
    for (const [provider, account] of accounts) {
      await database.empty();
      const feed = feedOf(provider, account);
      providers.nowMs = calmMinutes(2, provider, account);
      const { engine, id } = await connect(provider, account);
      const wanted = feed.newest(providers.nowMs) - feed.backlogStart(providers.nowMs) + 1;
      const [connector] = demoConnectors((await providers.start()).url).filter(
        (one) => one.provider === provider,
      );
      if (!connector) throw new Error('no connector');
      const before = await connector.sync(await contextOf(engine, id, undefined));
      expect(before.hasMore).toBe(true);

      const elsewhere = await providers.start();
      const onward = database.engine({ connectors: demoConnectors(elsewhere.url) });
      await database.sql('UPDATE connections SET metadata = patch_sync(metadata, $1)', [
        JSON.stringify({ cursor: before.nextCursor }),
      ]);
      expect((await sync(onward, id)).signals).toBe(wanted - before.signals.length);
    }
  });

  it('GitHub: what has not changed is not sent again, and leaves the cursor as it is', async () => {
    const account = Array.from({ length: 100 }, (_, i) => `acme/app-${i}`).find(
      (name) => paceSeconds('github', name) > 200,
    ) as string;
    const feed = feedOf('github', account);
    providers.nowMs = calmMinutes(1, 'github', account);
    const { engine, id, sync, lines } = await connect('github', account);
    await sync();
    // What was answered to another `since` says nothing about this one.
    expect(await cursorOf(engine, id)).not.toHaveProperty('etag');
    await sync();
    const cursor = await cursorOf(engine, id);
    expect(cursor).toMatchObject({ etag: expect.any(String) });
    lines.length = 0;
    expect(await sync()).toMatchObject({ succeeded: 1, signals: 0 });
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/→ 304, nothing has changed$/));
    expect(await cursorOf(engine, id)).toEqual(cursor);

    const newest = feed.newest(providers.nowMs);
    const [next] = feed.items(newest + 1, newest + 1);
    providers.nowMs = momentOf(undefined, 'github', account, next?.atMs);
    expect((await sync()).signals).toBe(feed.newest(providers.nowMs) - newest);
  });
});

describe('what goes wrong', () => {
  it.each(accounts)('%s: a server that is broken is tried again', async (provider, account) => {
    providers.nowMs = momentOf('broken', provider, account);
    const { sync } = await connect(provider, account);
    expect(await sync()).toMatchObject({ requeued: 1, succeeded: 0, signals: 0 });
    expect(await lastError()).toMatchObject({ status: 'queued', kind: 'transient' });
  });

  it.each(accounts)('%s: a limit is waited for as long as it lasts', async (provider, account) => {
    for (const kind of ['too fast', 'spent'] as const) {
      await database.empty();
      // At the beginning of the spell, which is longer than the engine's own first pause.
      providers.nowMs = momentOf(kind, provider, account);
      const { sync } = await connect(provider, account);
      expect(await sync()).toMatchObject({ requeued: 1, signals: 0 });
      const error = await lastError();
      expect(error).toMatchObject({ status: 'queued', kind: 'rate_limited' });
      expect(error?.waits).toBeGreaterThanOrEqual(15);
      expect(error?.waits).toBeLessThan(17);
    }
  });

  it.each(accounts)('%s: a token that is refused needs its user', async (provider, account) => {
    providers.nowMs = calmMinutes(1, provider, account);
    const { engine, id, sync } = await connect(provider, account, 'not-its-token');
    expect(await sync()).toMatchObject({ failed: 1 });
    expect(await lastError()).toMatchObject({ kind: 'unauthorized' });
    expect((await engine.connections.get(id)).status).toBe('needs_auth');
  });

  it('Google Calendar: an expired sync token is followed by a full sync, which doubles nothing', async () => {
    const [provider, account] = accounts[2];
    providers.nowMs = calmMinutes(2, provider, account);
    const { sync } = await connect(provider, account);
    await sync();
    const issuedMs = providers.nowMs;
    while (tokensValidSince(provider, account, providers.nowMs) <= issuedMs) providers.nowMs += 1000;
    providers.nowMs = calmMinutes(1, provider, account, providers.nowMs);
    expect(await sync()).toMatchObject({ failed: 1 });
    expect(await lastError()).toMatchObject({ status: 'failed', kind: 'cursor_expired' });
    const [full] = await database.sql(`SELECT status FROM sync_jobs WHERE job_type = 'full'`);
    expect(full).toEqual({ status: 'succeeded' });
    expect(await sync()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  it('Postgres: a position that is no longer kept is followed by a full sync', async () => {
    const [provider, account] = accounts[3];
    providers.nowMs = calmMinutes(1, provider, account);
    const { sync } = await connect(provider, account);
    await sync();
    providers.nowMs = calmMinutes(1, provider, account, providers.nowMs + 3 * 3_600_000);
    const caughtUp = await sync();
    expect(caughtUp).toMatchObject({ failed: 1 });
    expect(caughtUp.signals).toBeGreaterThan(100);
    expect(await lastError()).toMatchObject({ kind: 'cursor_expired' });
  });

  it.each(accounts)(
    '%s: one that cannot be reached is tried again, and the error says why',
    async (provider, account) => {
      const { sync, server } = await connect(provider, account);
      await server.stop();
      expect(await sync()).toMatchObject({ requeued: 1 });
      const [job] = await database.sql<{ message: string }>(
        `SELECT error ->> 'message' AS message FROM sync_jobs`,
      );
      expect(job?.message).toMatch(/^GET \/.*ECONNREFUSED/);
    },
  );

  it.each(accounts)('%s: a run that is aborted does not wait for the answer', async (provider, account) => {
    const run = new AbortController();
    const server = await startProviderServer({
      now: () => 0,
      sleep: (_ms, signal) => {
        run.abort(new Error('told to end'));
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    });
    try {
      const connector = demoConnectors(server.url).find((one) => one.provider === provider);
      const { engine, id } = await connect(provider, account);
      const context = await contextOf(engine, id, undefined);
      await expect(connector?.sync({ ...context, abortSignal: run.signal })).rejects.toThrow('told to end');
    } finally {
      await server.stop();
    }
  });
});

describe('what is told', () => {
  it('the log says what was asked for and what came back', async () => {
    const [provider, account] = accounts[0];
    providers.nowMs = calmMinutes(1, provider, account);
    const { sync, lines } = await connect(provider, account);
    await sync();
    const asked = lines.filter(({ level, msg }) => level === 'info' && msg.startsWith('GET '));
    expect(asked[0]?.msg).toBe(
      'GET /repos/acme/app/issues?sort=updated&direction=asc&per_page=30 → 200, 30 items',
    );
    expect(asked[1]?.msg).toMatch(/since=2026-\d\d-\d\dT\d\d:\d\d:\d\dZ&page=2 → 200, \d+ items$/);
    expect(asked[0]).toMatchObject({ job_id: expect.any(String), provider_slug: 'github' });
  });

  it('the token is in no log line, no error and no cursor, whatever happens', async () => {
    for (const [provider, account] of accounts) {
      for (const kind of [undefined, 'broken', 'too fast', 'spent'] as const) {
        await database.empty();
        providers.nowMs = momentOf(kind, provider, account);
        const { sync, lines } = await connect(provider, account);
        await sync();
        expect(lines.length).toBeGreaterThan(0);
        const jobs = await database.sql('SELECT * FROM sync_jobs');
        const metadata = await database.sql('SELECT metadata FROM connections');
        const told = JSON.stringify([lines, jobs, metadata]);
        expect(told).not.toContain(tokenOf(provider, account));
      }
    }
  });

  it('GitHub: the token goes to no other address, even if a link leads there', async () => {
    const asked: string[] = [];
    const impostor = createServer((request, response) => {
      asked.push(request.headers.host ?? '');
      response.setHeader(
        'link',
        `<http://localhost:${port}/github/repos/acme/app/issues?page=2>; rel="next"`,
      );
      response.end('[]');
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as AddressInfo;
    try {
      const engine = database.engine({ connectors: demoConnectors(`http://127.0.0.1:${port}`) });
      const { id } = await engine.connections.create({
        tenantId: tenant,
        provider: 'github',
        config: { account: 'acme/app', token: 'secret' },
      });
      expect(await sync(engine, id)).toMatchObject({ claimed: 1, succeeded: 1 });
      expect(asked).toEqual([`127.0.0.1:${port}`]);
    } finally {
      await new Promise((resolve) => impostor.close(resolve));
    }
  });
});

async function contextOf(engine: Syncline, id: string, cursor: unknown) {
  const { provider, externalId, config } = await engine.connections.get(id);
  return memoryContext({ connectionId: id, provider, externalId, config, cursor, log: silent });
}
