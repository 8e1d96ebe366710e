import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Connector,
  type Credential,
  type OAuth2,
  type Syncline,
  UnauthorizedError,
} from '../../src/index.ts';
import { wakeChannel } from '../../src/store/wake.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { newKey } from './handles.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
const secret = { type: 'api_key' as const, key: 'opens-it' };
const oauth2: OAuth2 = {
  authorizationUrl: 'https://provider.example/authorize',
  tokenUrl: 'https://provider.example/token',
  clientId: 'the-app',
};
let called: string[] = [];
beforeEach(async () => {
  await database.empty();
  called = [];
});

const provider = (more: Partial<Connector> = {}): Connector => ({
  provider: 'github',
  name: 'GitHub',
  sync: async ({ connection }) => {
    called.push(connection.id);
    return { signals: [] };
  },
  ...more,
});
const engine = (connector = provider({ oauth2 })) =>
  database.engine({ credentials: { keys }, connectors: [connector] });

/** A connection in needs_auth whose next scheduled run is an hour away. */
async function addNeedsAuth({ connections }: Syncline, credentialId?: string): Promise<string> {
  const { id } = await connections.create({ tenantId: tenant, provider: 'github', credentialId });
  await sql(
    `UPDATE connections SET status = 'needs_auth', last_incremental_ended_at = now(),
     metadata = jsonb_set(metadata, '{sync,next_run_at}', to_jsonb(to_char(now() AT TIME ZONE 'UTC' + interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
     WHERE id = $1`,
    [id],
  );
  return id;
}

const dueJobs = (id: string) =>
  sql(
    `SELECT priority FROM sync_jobs
     WHERE connection_id = $1 AND status = 'queued' AND scheduled_at <= now() AND retry_after IS NULL`,
    [id],
  );

describe('credentials: a run follows a new credential', () => {
  it('credentials: attaching a credential queues a run that an idle executor claims', async () => {
    const syncline = engine();
    await syncline.start({ roles: ['executor'] });
    const id = await addNeedsAuth(syncline);
    const { id: credential } = await syncline.credentials.create({
      ...{ tenantId: tenant, provider: 'github', secret },
    });
    await syncline.connections.setCredential(id, credential);
    expect(await syncline.connections.get(id)).toMatchObject({ status: 'active' });
    await until('the connection is synced', () => called.includes(id));
  });

  it('credentials: replacing a credential queues one run per connection that waited for it', async () => {
    const syncline = engine();
    const { credentials, connections } = syncline;
    const { id: credential } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const waiting = [await addNeedsAuth(syncline, credential), await addNeedsAuth(syncline, credential)];
    const [queued = '', running = ''] = waiting;
    const other = await connections.create({
      ...{ tenantId: tenant, provider: 'github', credentialId: credential },
    });
    await database.job(queued, { retry_after: '2100-01-01T00:00:00Z', attempts: 3 });
    const job = await database.job(running, { status: 'running', started_at: '2025-01-01T00:00:00Z' });
    await credentials.replace(credential, secret);
    expect(await dueJobs(queued)).toEqual([{ priority: 0 }]);
    expect(await sql('SELECT rerun_priority FROM sync_jobs WHERE id = $1', [job])).toEqual([
      { rerun_priority: 0 },
    ]);
    expect(await sql('SELECT FROM sync_jobs WHERE connection_id = $1', [other.id])).toEqual([]);
    expect(await sql('SELECT FROM sync_jobs')).toHaveLength(2);
  });

  it('credentials: resuming from needs_auth queues a run; resuming from paused does not', async () => {
    const syncline = engine();
    const [waiting, paused] = [await addNeedsAuth(syncline), await addNeedsAuth(syncline)];
    await syncline.connections.pause(paused);
    await syncline.connections.resume(waiting);
    await syncline.connections.resume(paused);
    expect(await dueJobs(waiting)).toEqual([{ priority: 10 }]);
    expect(await dueJobs(paused)).toEqual([]);
  });
});

describe('credentials: a run is rejected after its credential was replaced', () => {
  const oldSecret = { type: 'api_key' as const, key: 'old' };

  /**
   * An engine whose first run replaces its credential. The provider rejects the old key, and the new one too if
   * `rejectsAll`. `duringRun` follows the replacement.
   */
  function replacingEngine({ rejectsAll = false, duringRun = async (_id: string) => {} }) {
    const used: unknown[] = [];
    const syncline = engine(
      provider({
        sync: async ({ connection, credentials }) => {
          const { key } = (await credentials.get()) as Credential & { type: 'api_key' };
          used.push(key);
          if (used.length === 1) {
            const { credentialId } = await syncline.connections.get(connection.id);
            await syncline.credentials.replace(credentialId ?? '', secret);
            await duringRun(connection.id);
          }
          if (rejectsAll || key === 'old') throw new UnauthorizedError('The provider refuses the key.');
          return { signals: [] };
        },
      }),
    );
    const start = async (type: 'incremental' | 'full' = 'incremental') => {
      const credential = { tenantId: tenant, provider: 'github', secret: oldSecret };
      const { id: credentialId } = await syncline.credentials.create(credential);
      const { id } = await syncline.connections.create({
        tenantId: tenant,
        provider: 'github',
        credentialId,
      });
      await syncline.connections.trigger(id, { type });
      return id;
    };
    return { syncline, used, start };
  }
  const jobs = () => sql('SELECT job_type, status, priority FROM sync_jobs ORDER BY created_at, status');

  it.each(['incremental', 'full'] as const)(
    'credentials: a rejected %s run is followed by one with the new credential',
    async (type) => {
      const { syncline, used, start } = replacingEngine({});
      const id = await start(type);
      await syncline.drain();
      expect(used).toEqual(['old', secret.key]);
      expect(await jobs()).toEqual([
        { job_type: type, status: 'failed', priority: 10 },
        { job_type: 'incremental', status: 'succeeded', priority: 0 },
      ]);
      expect(await syncline.connections.get(id)).toMatchObject({ status: 'active' });
    },
  );

  it('credentials: the transaction that queues the run wakes all executors', async () => {
    const listener = await database.session();
    const woken: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => woken.push(payload));
    const listen = () => listener.query(`LISTEN ${wakeChannel('syncline')}`);
    const { syncline, start } = replacingEngine({ duringRun: async () => void (await listen()) });
    await start();
    await syncline.drain();
    await listener.query('SELECT');
    expect(woken).toEqual(['jobs']);
  });

  it('credentials: a run that used the new credential and is rejected sets needs_auth', async () => {
    const { syncline, used, start } = replacingEngine({ rejectsAll: true });
    const id = await start();
    await syncline.drain();
    expect(used).toEqual(['old', secret.key]);
    expect(await syncline.connections.get(id)).toMatchObject({ status: 'needs_auth' });
    expect(await sql(`SELECT FROM events WHERE kind = 'connection.needs_auth'`)).toHaveLength(1);
  });

  it('credentials: no run follows a replacement that the clock places in the future', async () => {
    const duringRun = async () =>
      void (await sql(`UPDATE credentials SET updated_at = now() + interval '1 hour'`));
    const { syncline, used, start } = replacingEngine({ rejectsAll: true, duringRun });
    const id = await start();
    await syncline.drain();
    expect(used).toEqual(['old']);
    expect(await syncline.connections.get(id)).toMatchObject({ status: 'active' });
  });

  it('credentials: no run follows if the connection was paused', async () => {
    const duringRun = async (id: string) => void (await syncline.connections.pause(id));
    const { syncline, used, start } = replacingEngine({ duringRun });
    const id = await start();
    await syncline.drain();
    expect(used).toEqual(['old']);
    expect(await jobs()).toEqual([{ job_type: 'incremental', status: 'failed', priority: 10 }]);
    expect(await syncline.connections.get(id)).toMatchObject({ status: 'paused' });
  });
});

describe('credentials: a connection that waits for its first credential', () => {
  it('credentials: an OAuth connection without a credential does not run', async () => {
    const syncline = engine();
    const { connections, credentials } = syncline;
    const { id, status, sync } = await connections.create({ tenantId: tenant, provider: 'github' });
    expect([status, sync.firstActivatedAt]).toEqual(['needs_auth', undefined]);
    expect(await syncline.tick()).toMatchObject({ scheduled: 0 });
    expect(await syncline.drain()).toMatchObject({ claimed: 0 });
    expect(called).toEqual([]);
    const why = await connections.explain(id);
    expect(why.state).toBe('needs_auth');
    expect(why.sentence).toMatch(/^Waiting for authorization: no credential has been provided yet\./);
    expect(await syncline.stats.attention()).toMatchObject([
      { cause: 'needs_auth', failure: 'no_credential', message: undefined },
    ]);

    const stored = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    const active = await connections.setCredential(id, stored.id);
    expect([active.status, active.sync.firstActivatedAt]).toEqual(['active', expect.any(Date)]);
    expect(await syncline.drain()).toMatchObject({ succeeded: 1 });
    expect(called).toEqual([id]);
  });

  it('credentials: triggers, bulk steps, pausing and resuming do not run an unauthorized connection', async () => {
    const syncline = engine();
    const { connections } = syncline;
    const { id } = await connections.create({ tenantId: tenant, provider: 'github' });
    await expect(connections.trigger(id)).rejects.toMatchObject({ code: 'CONFLICT' });
    for (const action of ['trigger', 'resume'] as const)
      expect(await connections.bulk({ action, filter: {} })).toMatchObject({ changed: 0, failed: [{ id }] });
    for (const resume of [
      () => connections.resume(id),
      () => connections.bulk({ action: 'resume', filter: {} }),
    ]) {
      await connections.pause(id);
      await resume();
      expect(await connections.get(id)).toMatchObject({
        ...{ status: 'needs_auth', sync: { firstActivatedAt: undefined } },
      });
      expect((await connections.explain(id)).sentence).toMatch(/no credential has been provided yet/);
    }
    await syncline.tick();
    await syncline.drain();
    expect(called).toEqual([]);
    await connections.resume(id);
    await syncline.drain();
    expect(called).toEqual([id]);
  });

  it('credentials: a connection without a credential runs if the connector requires none', async () => {
    const syncline = engine(provider({ oauth2: { ...oauth2, optional: true } }));
    const { id, status } = await syncline.connections.create({ tenantId: tenant, provider: 'github' });
    expect(status).toBe('active');
    await syncline.tick();
    await syncline.drain();
    const plain = engine(provider());
    const other = await plain.connections.create({ tenantId: tenant, provider: 'github' });
    await plain.tick();
    await plain.drain();
    expect(called).toEqual([id, other.id]);
  });

  it('credentials: a run without a credential is explained as missing authorization', async () => {
    const sync: Connector['sync'] = async ({ credentials }) => {
      await credentials.get();
      return { signals: [] };
    };
    const syncline = engine(provider({ sync }));
    const { id } = await syncline.connections.create({ tenantId: tenant, provider: 'github' });
    await syncline.tick();
    await syncline.drain();
    expect(await syncline.connections.explain(id)).toMatchObject({
      state: 'needs_auth',
      sentence: expect.stringMatching(/^Waiting for authorization: no credential has been provided yet\./),
    });
  });
});
