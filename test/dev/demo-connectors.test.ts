import { beforeEach, describe, expect, it } from 'vitest';
import { demoProviders } from '../../src/dev/demo-accounts.ts';
import { demoConnectors } from '../../src/dev/demo-connectors.ts';
import { feedOf } from '../../src/dev/provider/feed.ts';
import { tokenOf } from '../../src/dev/provider/tokens.ts';
import { tokensValidSince } from '../../src/dev/provider/weather.ts';
import type { Syncline } from '../../src/index.ts';
import { newKey } from '../credentials/handles.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { calmMinutes, holder, momentOf, useProviders } from '../support/provider-server.ts';

const database = useDatabase();
const providers = useProviders();
const credentials = { keys: [newKey()] };
beforeEach(() => database.empty());

const accounts = [
  ['github', 'acme/app'],
  ['slack', 'CACMEHELP'],
  ['google-calendar', 'team@acme.example'],
  ['warehouse', 'acme/shop'],
] as const;

/** Creates a connection as the demo does, and an engine to sync it. */
async function connect(provider: string, account: string, key = tokenOf(provider, holder)) {
  const { url } = await providers.start();
  const engine = database.engine({ connectors: demoConnectors(url), credentials });
  const credential = await engine.credentials.create({
    tenantId: tenant,
    provider,
    secret: { type: 'api_key', key },
  });
  const { id } = await engine.connections.create({
    tenantId: tenant,
    provider,
    credentialId: credential.id,
    config: demoProviders.find(({ slug }) => slug === provider)?.configOf(account),
  });
  return { engine, id, sync: () => sync(engine, id) };
}

async function sync(engine: Syncline, id: string) {
  await engine.connections.trigger(id);
  return engine.drain();
}

async function lastError() {
  const [job] = await database.sql<{ status: string; kind: string; waits: number }>(
    `SELECT status, error ->> 'kind' AS kind, extract(epoch FROM retry_after - (error ->> 'at')::timestamptz)::float8 AS waits
     FROM sync_jobs WHERE error IS NOT NULL ORDER BY updated_at DESC LIMIT 1`,
  );
  return job;
}

describe('data', () => {
  it.each(accounts)(
    'demo connectors: %s syncs the backlog first, then only new items',
    async (provider, account) => {
      const feed = feedOf(provider, account);
      providers.nowMs = calmMinutes(5, provider, account);
      const { sync } = await connect(provider, account);
      const oldest = feed.backlogStart(providers.nowMs);
      expect(await sync()).toMatchObject({
        requeued: 0,
        failed: 0,
        signals: feed.newest(providers.nowMs) - oldest + 1,
      });

      for (let minute = 0; minute < 4; minute++) {
        const seen = feed.newest(providers.nowMs);
        providers.nowMs += 60_000;
        const found = feed.newest(providers.nowMs) - seen;
        expect(await sync()).toMatchObject({ claimed: 1, failed: 0, signals: found });
      }
      const [stored] = await database.sql('SELECT count(DISTINCT occurred_at)::int AS times FROM signals');
      expect(stored).toEqual({ times: feed.newest(providers.nowMs) - oldest + 1 });
    },
  );

  it('demo connectors: signal kinds describe the changes', async () => {
    for (const [provider, account] of accounts) {
      providers.nowMs = calmMinutes(1, provider, account);
      await (await connect(provider, account)).sync();
    }
    const kinds = await database.sql<{ kind: string }>('SELECT DISTINCT kind FROM signals ORDER BY kind');
    expect(kinds.map(({ kind }) => kind)).toEqual([
      'event.cancelled',
      'event.created',
      'event.updated',
      'issue.closed',
      'issue.created',
      'issue.updated',
      'message.posted',
      'message.replied',
      'pull_request.closed',
      'pull_request.created',
      'pull_request.merged',
      'pull_request.updated',
      'row.deleted',
      'row.inserted',
      'row.updated',
    ]);
  });

  it.each(accounts)(
    'demo connectors: %s tracks a budget for the provider limit',
    async (provider, account) => {
      providers.nowMs = calmMinutes(1, provider, account);
      const { engine, sync } = await connect(provider, account);
      await sync();
      await engine.stop();
      const { items } = await database.engine().budgets.list({ provider });
      const [spent] = items.filter(({ credentialId }) => credentialId !== undefined);
      expect(spent?.left).toBeLessThan(spent?.limit ?? 0);
      // Only GitHub reports the remaining quota.
      expect(spent?.learnedAt !== undefined).toBe(provider === 'github');
    },
  );
});

describe('failures', () => {
  it.each(accounts)('demo connectors: %s retries after a server error', async (provider, account) => {
    providers.nowMs = momentOf('broken', provider, account);
    const { sync } = await connect(provider, account);
    expect(await sync()).toMatchObject({ requeued: 1, succeeded: 0, signals: 0 });
    expect(await lastError()).toMatchObject({ status: 'queued', kind: 'transient' });
  });

  it.each(accounts)('demo connectors: %s waits until a rate limit ends', async (provider, account) => {
    for (const kind of ['too fast', 'spent'] as const) {
      await database.empty();
      // The limit outlasts the engine's first backoff.
      providers.nowMs = momentOf(kind, provider, account);
      const { engine, sync } = await connect(provider, account);
      expect(await sync()).toMatchObject({ requeued: 1, signals: 0 });
      const error = await lastError();
      expect(error).toMatchObject({ status: 'queued', kind: 'rate_limited' });
      expect(error?.waits).toBeGreaterThanOrEqual(15);
      expect(error?.waits).toBeLessThan(17);
      // The limit is per token holder: this one has none at that time.
      await engine.stop();
      const other = await connect(provider, account, tokenOf(provider, 'second'));
      expect(await other.sync()).toMatchObject({ requeued: 0, succeeded: 1 });
    }
  });

  it.each(accounts)(
    'demo connectors: a rejected token of %s sets the connection to needs_auth',
    async (provider, account) => {
      providers.nowMs = calmMinutes(1, provider, account);
      const { engine, id, sync } = await connect(provider, account, 'not-its-token');
      expect(await sync()).toMatchObject({ failed: 1 });
      expect(await lastError()).toMatchObject({ kind: 'unauthorized' });
      expect((await engine.connections.get(id)).status).toBe('needs_auth');
    },
  );

  it('demo connectors: an expired sync token of Google Calendar triggers a full sync without duplicates', async () => {
    const [provider, account] = accounts[2];
    const feed = feedOf(provider, account);
    providers.nowMs = calmMinutes(2, provider, account);
    const { sync } = await connect(provider, account);
    await sync();
    const issuedMs = providers.nowMs;
    while (tokensValidSince(provider, account, providers.nowMs) <= issuedMs) providers.nowMs += 1000;
    providers.nowMs = calmMinutes(1, provider, account, providers.nowMs);
    const unseen = Math.max(feed.newest(issuedMs) + 1, feed.backlogStart(providers.nowMs));
    expect(await sync()).toMatchObject({
      succeeded: 1,
      failed: 0,
      signals: feed.newest(providers.nowMs) - unseen + 1,
    });
  });

  it('demo connectors: an expired position of the warehouse triggers a full sync', async () => {
    const [provider, account] = accounts[3];
    const feed = feedOf(provider, account);
    providers.nowMs = calmMinutes(1, provider, account);
    const { sync } = await connect(provider, account);
    await sync();
    providers.nowMs = calmMinutes(1, provider, account, providers.nowMs + 3 * 3_600_000);
    expect(await sync()).toMatchObject({
      succeeded: 1,
      failed: 0,
      signals: feed.newest(providers.nowMs) - feed.backlogStart(providers.nowMs) + 1,
    });
  });
});
