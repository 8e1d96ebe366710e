import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import type { Delivery } from '../../src/contract/webhook.ts';
import { type SyncContext, systemPorts } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { held } from '../support/held.ts';
import { countOf, severalAtATime } from '../support/worker.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './hooked.ts';

const database = useDatabase();
const { sql, connect, job } = database;

beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE rollups');
});

/** What a delivery tells of, under the key that polling gives it. */
const itemsIn = ({ body }: Delivery) =>
  (JSON.parse(body.toString()) as { items: string[] }).items.map((item) => signal({ item }, item));

/** A service that stores what it is told of, and has nothing synced unless told to. */
async function telling({ sync = false }: { sync?: boolean } = {}) {
  const connectors = [
    hooked({ verify: githubSignature(), react: (delivery) => ({ sync, signals: itemsIn(delivery) }) }),
  ];
  const service = await startService(database, { engine: { connectors, credentials } });
  const id = await connect();
  const { secret } = await service.syncline.webhooks.create(id);
  const tell = async (...items: string[]) => {
    const body = JSON.stringify({ items });
    const { status } = await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect(status).toBe(202);
  };
  return { service, id, tell };
}

const stored = () =>
  sql(
    `SELECT payload ->> 'item' AS item, j.job_type AS by FROM signals s JOIN sync_jobs j ON j.id = s.job_id ORDER BY 1`,
  );

describe('direct: what a delivery brings is stored as if it had been fetched', () => {
  it('direct: it is in the feed, in the statistics and in the history, under a job that says where it came from', async () => {
    const { service, id, tell } = await telling();
    const { syncline } = service;
    await tell('one', 'two');
    expect(await stored()).toEqual([
      { item: 'one', by: 'webhook' },
      { item: 'two', by: 'webhook' },
    ]);
    const { items: fed } = await syncline.signals.read({ after: 'beginning' });
    expect(fed.map(({ payload }) => payload)).toEqual([{ item: 'one' }, { item: 'two' }]);
    const { items: jobs } = await syncline.jobs.list({ connectionId: id });
    expect(jobs).toMatchObject([{ type: 'webhook', status: 'succeeded', signals: 2, attempts: 0 }]);
    const { verdict, runs } = await syncline.jobs.get(jobs[0]?.id ?? '');
    expect(verdict).toMatch(/succeeded.*2 new signals/);
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

  it('direct: what polling finds later is absorbed, and what polling found before, too', async () => {
    const { id, tell } = await telling();
    await tell('both');
    const worker = database.engine({
      connectors: [connector(() => ({ signals: ['both', 'polled'].map((item) => signal({ item }, item)) }))],
    });
    await job(id);
    expect(await worker.drain()).toMatchObject({ succeeded: 1, signals: 1 });
    await tell('polled', 'told');
    expect(await stored()).toEqual([
      { item: 'both', by: 'webhook' },
      { item: 'polled', by: 'incremental' },
      { item: 'told', by: 'webhook' },
    ]);
    expect(await sql(`SELECT signal_count FROM sync_jobs WHERE job_type = 'webhook' ORDER BY id`)).toEqual([
      { signal_count: 1 },
      { signal_count: 1 },
    ]);
  });

  it('direct: a delivery that comes again leaves nothing behind', async () => {
    const { tell } = await telling();
    await severalAtATime(8, [...Array(20).keys()], () => tell('same', 'again'));
    expect(await countOf(sql, 'signals')).toBe(2);
    expect(await sql('SELECT job_type, signal_count FROM sync_jobs')).toEqual([
      { job_type: 'webhook', signal_count: 2 },
    ]);
    expect(await sql('SELECT sum(succeeded)::int AS n FROM rollups')).toEqual([{ n: 2 }]);
  });

  it('direct: told of and fetched at the same time, everything is stored once', async () => {
    const { id, tell } = await telling();
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
    const [done] = await Promise.all([worker.drain(), severalAtATime(4, [...items], (item) => tell(item))]);
    expect(done).toMatchObject({ succeeded: 10, lost: 0 });
    expect((await stored()).map(({ item }) => item)).toEqual([...items].sort());
  });

  it('direct: neither the run under way nor the schedule notices', async () => {
    const { id, tell } = await telling();
    await job(id);
    await sql('UPDATE connections SET waits_for_job = true WHERE id = $1', [id]);
    const { engine, hasBegun, began, letGo } = held(database);
    const drained = engine.drain();
    await hasBegun(1);
    const facts = () =>
      sql(
        `SELECT c.waits_for_job, c.last_incremental_ended_at, c.metadata, c.updated_at, c.failing_since,
           (SELECT json_agg(j) FROM sync_jobs j WHERE j.connection_id = c.id AND j.job_type = 'incremental') AS jobs
         FROM connections c WHERE c.id = $1`,
        [id],
      );
    const before = await facts();
    await tell('one');
    await tell('two');
    expect(await facts()).toEqual(before);
    letGo();
    expect(await drained).toMatchObject({ claimed: 1, succeeded: 1, lost: 0 });
    expect(began).toHaveLength(1);
    expect(await countOf(sql, `sync_jobs WHERE job_type = 'webhook' AND status = 'succeeded'`)).toBe(2);
  });

  it('direct: with both, the signals are there at once and a sync follows', async () => {
    const { tell } = await telling({ sync: true });
    await tell('one');
    expect(await sql('SELECT job_type, status FROM sync_jobs ORDER BY 1')).toEqual([
      { job_type: 'incremental', status: 'queued' },
      { job_type: 'webhook', status: 'succeeded' },
    ]);
  });

  it('direct: signals and their job are one transaction: a process that is cut off leaves both or neither', async () => {
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
