import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import type { Delivery } from '../../src/contract/webhook.ts';
import { type SyncContext, systemPorts } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { startBlockingEngine } from '../support/blocking-engine.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { countOf, forEachConcurrently } from '../support/worker.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './webhook-connector.ts';

const database = useDatabase();
const { sql, connect, job } = database;

beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE rollups');
});

/** The signals of a delivery, with the dedupe keys of polling. */
const itemsIn = ({ body }: Delivery) =>
  (JSON.parse(body.toString()) as { items: string[] }).items.map((item) => signal({ item }, item));

/** A service that stores the signals of its deliveries; `sync`: also as a hint. */
async function startReceivingService({ sync = false }: { sync?: boolean } = {}) {
  const connectors = [
    hooked({ verify: githubSignature(), react: (delivery) => ({ sync, signals: itemsIn(delivery) }) }),
  ];
  const service = await startService(database, { engine: { connectors, credentials } });
  const id = await connect();
  const { secret } = await service.syncline.webhooks.create(id);
  const send = async (...items: string[]) => {
    const body = JSON.stringify({ items });
    const { status } = await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect(status).toBe(202);
  };
  return { service, id, send };
}

const stored = () =>
  sql(
    `SELECT payload ->> 'item' AS item, j.job_type AS by FROM signals s JOIN sync_jobs j ON j.id = s.job_id ORDER BY 1`,
  );

describe('direct: signals of a delivery are stored as if they had been polled', () => {
  it('direct: they appear in the feed, the statistics and the history, under a webhook job', async () => {
    const { service, id, send } = await startReceivingService();
    const { syncline } = service;
    await send('one', 'two');
    expect(await stored()).toEqual([
      { item: 'one', by: 'webhook' },
      { item: 'two', by: 'webhook' },
    ]);
    const { items: fed } = await syncline.signals.read({ after: 'beginning' });
    expect(fed.map(({ payload }) => payload)).toEqual([{ item: 'one' }, { item: 'two' }]);
    const { items: jobs } = await syncline.jobs.list({ connectionId: id });
    expect(jobs).toMatchObject([{ type: 'webhook', status: 'succeeded', signals: 2, attempts: 0 }]);
    const { verdict, runs } = await syncline.jobs.get(jobs[0]?.id ?? '');
    expect(verdict).toMatch(/^Succeeded.*2 new signals/);
    expect(runs).toMatchObject([{ outcome: 'succeeded' }]);
    const operatorId = '00000000-0000-0000-0000-000000000000';
    const lag = Array.from({ length: 12 }, (_, i) => `lag_${i}`).join(' + ');
    expect(
      await sql(
        `SELECT tenant_id, provider_slug, succeeded, signals, failed, retried, ${lag} AS started FROM rollups ORDER BY 1`,
      ),
    ).toEqual(
      [operatorId, tenant].map((tenant_id) => ({
        tenant_id,
        provider_slug: 'github',
        succeeded: 1,
        signals: 2,
        failed: 0,
        retried: 0,
        started: 0,
      })),
    );
  });

  it('direct: signals that polling stores before or after are absorbed', async () => {
    const { id, send } = await startReceivingService();
    await send('both');
    const worker = database.engine({
      connectors: [connector(() => ({ signals: ['both', 'polled'].map((item) => signal({ item }, item)) }))],
    });
    await job(id);
    expect(await worker.drain()).toMatchObject({ succeeded: 1, signals: 1 });
    await send('polled', 'delivered');
    expect(await stored()).toEqual([
      { item: 'both', by: 'webhook' },
      { item: 'delivered', by: 'webhook' },
      { item: 'polled', by: 'incremental' },
    ]);
    expect(await sql(`SELECT signal_count FROM sync_jobs WHERE job_type = 'webhook' ORDER BY id`)).toEqual([
      { signal_count: 1 },
      { signal_count: 1 },
    ]);
  });

  it('direct: a repeated delivery stores nothing', async () => {
    const { send } = await startReceivingService();
    await forEachConcurrently(8, [...Array(20).keys()], () => send('same', 'again'));
    expect(await countOf(sql, 'signals')).toBe(2);
    expect(await sql('SELECT job_type, signal_count FROM sync_jobs')).toEqual([
      { job_type: 'webhook', signal_count: 2 },
    ]);
    expect(await sql('SELECT sum(succeeded)::int AS n FROM rollups')).toEqual([{ n: 2 }]);
  });

  it('direct: signals delivered and polled concurrently are stored once', async () => {
    const { id, send } = await startReceivingService();
    const items = Array.from({ length: 40 }, (_, i) => `item ${i}`);
    const worker = database.engine({
      connectors: [
        connector(({ cursor }: SyncContext) => {
          const at = (cursor as number | undefined) ?? 0;
          const found = items.slice(at, at + 4).map((item) => signal({ item }, item));
          return { signals: found, nextCursor: at + 4, hasMore: at + 4 < items.length };
        }),
      ],
    });
    await job(id);
    const [done] = await Promise.all([
      worker.drain(),
      forEachConcurrently(4, [...items], (item) => send(item)),
    ]);
    expect(done).toMatchObject({ succeeded: 10, lost: 0 });
    expect((await stored()).map(({ item }) => item)).toEqual([...items].sort());
  });

  it('direct: a delivery changes neither the current run nor the schedule', async () => {
    const { id, send } = await startReceivingService();
    await job(id);
    await sql('UPDATE connections SET waits_for_job = true WHERE id = $1', [id]);
    const { engine, untilStarted, startedRuns, release } = startBlockingEngine(database);
    const drained = engine.drain();
    await untilStarted(1);
    const facts = () =>
      sql(
        `SELECT c.waits_for_job, c.last_incremental_ended_at, c.metadata, c.updated_at, c.failing_since,
           (SELECT json_agg(j) FROM sync_jobs j WHERE j.connection_id = c.id AND j.job_type = 'incremental') AS jobs
         FROM connections c WHERE c.id = $1`,
        [id],
      );
    const before = await facts();
    await send('one');
    await send('two');
    expect(await facts()).toEqual(before);
    release();
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 1, lost: 0 });
    expect(startedRuns).toHaveLength(1);
    expect(await countOf(sql, `sync_jobs WHERE job_type = 'webhook' AND status = 'succeeded'`)).toBe(2);
  });

  it('direct: with sync, the signals are stored immediately and a sync is queued', async () => {
    const { send } = await startReceivingService({ sync: true });
    await send('one');
    expect(await sql('SELECT job_type, status FROM sync_jobs ORDER BY 1')).toEqual([
      { job_type: 'incremental', status: 'queued' },
      { job_type: 'webhook', status: 'succeeded' },
    ]);
  });

  it('direct: a lost connection leaves neither the signals nor their job', async () => {
    const id = await connect();
    const connectors = [
      hooked({
        verify: githubSignature(),
        react: (delivery) => ({ sync: false, signals: itemsIn(delivery) }),
      }),
    ];
    const ports = { ...systemPorts };
    const service = await startService(database, { engine: { connectors, credentials, ports } });
    const { secret } = await service.syncline.webhooks.create(id);
    const body = JSON.stringify({ items: ['one'] });
    for (const part of ['rollups', 'sync_jobs']) {
      ports.query = (statement, send) =>
        new RegExp(`INSERT INTO \\S+\\.${part}`).test(statement)
          ? Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
          : send();
      const { status } = await deliver(service, pathOf(id), body, asGithub(secret, body));
      expect(status, part).toBe(503);
      expect(await countOf(sql, 'signals'), part).toBe(0);
      expect(await countOf(sql, 'sync_jobs'), part).toBe(0);
    }
  });
});
